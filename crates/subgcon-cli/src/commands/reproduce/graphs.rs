//! Which graphs of the paper are there, and as which stores?

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Context as _;
use subgcon::io::import::{GraphSaint, Planetoid};
use subgcon::io::store::{Store, StoreOptions, StoreWriter};

use super::Arguments;
use super::journal::this_program;
use crate::progress::Bars;

/// A graph of the paper that is present.
pub(super) struct Dataset {
    /// As in `--only` and in file names.
    pub(super) name: &'static str,
    /// As in tables.
    pub(super) shown: &'static str,
    /// Where the paper's numbers for it are, if they are for the same graph.
    pub(super) column: usize,
    pub(super) store: Store,
    /// Whether the store was put there by somebody, from files that nobody knows.
    pub(super) given: bool,
}

/// Name, name in tables, and column in the paper's tables.
const DATASETS: [(&str, &str, usize); 4] =
    [("cora", "Cora", 0), ("citeseer", "Citeseer", 1), ("pubmed", "Pubmed", 2), ("ppi", "PPI", 3)];

/// The graphs that are present, as stores below the results.
pub(super) fn datasets(arguments: &Arguments, progress: &Bars) -> anyhow::Result<Vec<Dataset>> {
    if let Some(name) =
        arguments.only.iter().find(|name| !DATASETS.iter().any(|(known, ..)| known == *name))
    {
        anyhow::bail!("--only {name}: is no graph of the paper; use cora, citeseer, pubmed or ppi");
    }
    let asked =
        |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let sources: Vec<_> = DATASETS
        .into_iter()
        .filter(|(name, ..)| asked(name))
        .filter_map(|dataset| Some((dataset, Source::of(dataset.0, &arguments.data)?)))
        .collect();
    if sources.is_empty() {
        anyhow::bail!(
            "{}: has none of the graphs; put the Planetoid files (ind.cora.*, …) or a GraphSAINT folder \
             ppi-small there",
            arguments.data.display()
        );
    }
    let cache = arguments.output.join("stores");
    std::fs::create_dir_all(&cache)
        .with_context(|| format!("{}: cannot be created", cache.display()))?;
    let mut present = Vec::new();
    for ((name, shown, column), source) in sources {
        let path = cache.join(format!("{name}.graph"));
        let given = source.stored(name, &path, progress)?;
        present.push(Dataset { name, shown, column, store: Store::open(&path)?, given });
    }
    Ok(present)
}

/// Files of a graph.
enum Source {
    Planetoid(PathBuf),
    GraphSaint(PathBuf),
}

/// What a store was made from, in words.
const ORIGIN: &str = "from";

impl Source {
    fn of(name: &str, data: &Path) -> Option<Source> {
        if name == "ppi" {
            let folders = [data.join("ppi-small"), data.join("ppi"), data.to_path_buf()];
            let found = folders.into_iter().find(|folder| folder.join("adj_full.npz").exists());
            return found.map(Source::GraphSaint);
        }
        let folders = [data.join("planetoid"), data.to_path_buf()];
        let file = format!("ind.{name}.graph");
        let found = folders.into_iter().find(|folder| folder.join(&file).exists());
        found.map(Source::Planetoid)
    }

    /// Sees to it that there is a store of these files, made by this program. One that was
    /// made from other files, or by another program, is made anew, and so are its contexts; one
    /// that nothing is told of was put there by somebody, and is taken as it is: whether it was so.
    fn stored(&self, name: &str, path: &Path, progress: &Bars) -> anyhow::Result<bool> {
        let told = path.with_extension(ORIGIN);
        let origin = self.origin(name)?;
        let before = fs::read_to_string(&told);
        if path.exists() {
            match &before {
                Ok(text) if *text == origin => return Ok(false),
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    return Ok(true);
                }
                _ => {}
            }
        }
        // Contexts first: they would fit the new store, too.
        for old in [path.with_extension("graph.contexts"), path.to_path_buf()] {
            if old.exists() {
                fs::remove_dir_all(&old)
                    .with_context(|| format!("cannot remove {}", old.display()))?;
            }
        }
        // Before the store: a kill in between leaves nothing that looks like somebody's own.
        fs::write(&told, origin).with_context(|| format!("cannot write {}", told.display()))?;
        let mut writer = StoreWriter::create(path, StoreOptions::default(), progress)?;
        let origin = match self {
            Source::Planetoid(dir) => {
                Planetoid { dir: dir.clone(), name: name.into() }.import(&mut writer)?
            }
            Source::GraphSaint(dir) => GraphSaint { dir: dir.clone() }.import(&mut writer)?,
        };
        writer.finish(origin)?;
        Ok(false)
    }

    /// The program, and names, sizes and times of the files.
    fn origin(&self, name: &str) -> anyhow::Result<String> {
        let (dir, start) = match self {
            Source::Planetoid(dir) => (dir, format!("ind.{name}.")),
            Source::GraphSaint(dir) => (dir, String::new()),
        };
        let unreadable = || format!("cannot read {}", dir.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(dir).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let (name, file) = (entry.file_name(), entry.metadata().with_context(unreadable)?);
            let name = name.to_string_lossy();
            if file.is_file() && name.starts_with(&start) {
                let changed = file.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
                let changed = changed.map_or(0, |time| time.as_nanos());
                files.push(format!("{name} {} {changed}\n", file.len()));
            }
        }
        files.sort();
        Ok(format!("{}\n{}", this_program()?, files.concat()))
    }
}
