//! How does the MUSAE collection (Facebook pages, GitHub, Twitch) store a graph?
//!
//! | file | contents |
//! | --- | --- |
//! | `edges.csv` | a header, then two node ids a line |
//! | `features.json` | object from node id to the list of its features, which are binary |
//! | `target.csv` | a table with a header: `id` (or `new_id`), the class and more |
//!
//! Each name may have something before it (`musae_facebook_edges.csv`). The
//! nodes are those of `target.csv`, or of `features.json` where there is no
//! target, in rising order of their ids; one of the two has to be there.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::source::{check_claim, json};
use crate::error::{Error, Place, Result, shown};
use crate::graph::{IdIndex, Ids, Labels, MAX_NODES};
use crate::io::store::{Origin, StoreWriter};
use crate::io::table::csv::{TextTable, field_text};
use crate::io::table::edges::{EdgeTables, KnownNodes};
use crate::io::table::{EdgeColumns, Header, TextOptions, file_name};

/// Columns that hold the class, the first one there is taken.
const CLASS_COLUMNS: [&str; 4] = ["page_type", "ml_target", "target", "mature"];

/// A folder in MUSAE's layout.
#[derive(Debug, Clone)]
pub struct Musae {
    /// The folder.
    pub dir: PathBuf,
    /// The column of `target.csv` that holds the class; the usual one where absent.
    pub label_column: Option<String>,
}

impl Musae {
    /// Reads the files and hands their graph to the store.
    pub fn import(&self, store: &mut StoreWriter<'_>) -> Result<Origin> {
        let edges_path = self.find("edges.csv")?.ok_or_else(|| {
            let remedy = "put the file with the edges there or name another folder";
            Error::input(self.dir.join("edges.csv"), "is missing", remedy)
        })?;
        let features_path = self.find("features.json")?;
        let target_path = self.find("target.csv")?;
        let features = match &features_path {
            Some(path) => Some(json(path, FeaturesSeed)?),
            None => None,
        };
        let target = match &target_path {
            Some(path) => Some(self.target(path)?),
            None => None,
        };

        let (path, mut sorted) = match (&target, &features) {
            (Some(target), _) => (&target_path, target.ids.clone()),
            (None, Some(features)) => {
                (&features_path, features.rows.iter().map(|row| row.0).collect())
            }
            (None, None) => {
                return Err(Error::input(
                    self.dir.join("target.csv"),
                    "is missing, and so is features.json",
                    "one of them has to say which nodes there are",
                ));
            }
        };
        let path = path.as_ref().unwrap_or(&edges_path);
        sorted.sort_unstable();
        if sorted.len() as u64 > MAX_NODES {
            let problem = format!("has {} nodes", sorted.len());
            return Err(Error::input(path, problem, "split the graph"));
        }
        let ids = Ids::from_integers(sorted);
        let index = ids.index().map_err(|duplicate| {
            let problem = format!("has node {} twice", duplicate.id);
            Error::input(path, problem, "give every node one row")
        })?;
        let edges = EdgeTables {
            files: std::slice::from_ref(&edges_path),
            columns: &EdgeColumns {
                named_by: Some("a header id_1,id_2"),
                ..EdgeColumns::default()
            },
            text: TextOptions::default(),
            progress: store.progress(),
            unused: Default::default(),
        };
        let edges = edges.known(&KnownNodes {
            index: &index,
            listed_in: file_name(path),
            remedy: "add the node there or remove the line",
        })?;
        store.topology(&ids, edges)?;
        if let (Some(path), Some(features)) = (&features_path, &features) {
            features.write(store, path, &ids, &index)?;
        }
        if let Some(Target { ids: rows, classes: Some(classes) }) = &target {
            let mut labels: Vec<Option<&str>> = vec![None; ids.len()];
            for (&id, class) in rows.iter().zip(classes) {
                let node = index.integer(id).expect("the ids are those of these rows");
                labels[node as usize] = Some(class.as_str()).filter(|class| !class.is_empty());
            }
            store.labels(&Labels::from_names(&labels))?;
        }
        let optional = [&features_path, &target_path].into_iter().flatten();
        Ok(Origin::new("musae", [&edges_path].into_iter().chain(optional)))
    }

    /// The file of this name, or the only one whose name ends with it.
    fn find(&self, ending: &str) -> Result<Option<PathBuf>> {
        let exact = self.dir.join(ending);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.dir).map_err(Error::io("list", &self.dir))? {
            let path = entry.map_err(Error::io("list", &self.dir))?.path();
            if path == exact {
                return Ok(Some(path));
            }
            if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending)) {
                found.push(path);
            }
        }
        match found.len() {
            0 | 1 => Ok(found.pop()),
            count => Err(Error::input(
                &self.dir,
                format!("has {count} files that end in {ending}"),
                "keep one graph in a folder",
            )),
        }
    }

    fn target(&self, path: &Path) -> Result<Target> {
        let table = TextTable::open(path, b',', TextOptions::default())?;
        let names = table.names.clone();
        // Twitch's tables have the site's own number as `id`.
        let header = Header::fixed(path, &names);
        let id_column = header.find(None, &["new_id", "id"], "the header `id`")?;
        let id_column =
            id_column.ok_or_else(|| header.missing("no column \"id\"", "the header `id`"))?;
        let label = self.label_column.as_deref();
        let class_column = header.find(label, &CLASS_COLUMNS, "--label-column")?;
        let mut target = Target { ids: Vec::new(), classes: class_column.map(|_| Vec::new()) };
        table.each_record(|line, record| {
            let place = || Place::line(path, line);
            let id = field_text(&record[id_column], &place)?.trim();
            let number = id.parse().map_err(|_| {
                let problem = format!("node id {} is not an integer", shown(id));
                Error::input(place(), problem, "mend the line")
            })?;
            target.ids.push(number);
            if let (Some(classes), Some(column)) = (&mut target.classes, class_column) {
                classes.push(field_text(&record[column], &place)?.trim().to_owned());
            }
            Ok(true)
        })?;
        Ok(target)
    }
}

/// The rows of `target.csv`.
struct Target {
    ids: Vec<i64>,
    classes: Option<Vec<String>>,
}

/// The lists of `features.json` in the order of the file.
#[derive(Default)]
struct Lists {
    /// Node id, and where its list begins and ends in `columns`.
    rows: Vec<(i64, usize, usize)>,
    columns: Vec<u32>,
}

impl Lists {
    fn write(
        &self,
        store: &mut StoreWriter<'_>,
        path: &Path,
        ids: &Ids,
        index: &IdIndex<'_>,
    ) -> Result<()> {
        let refuse = |id: &str, problem: &str, remedy: &str| {
            Err(Error::input(Place::member(path, id), problem, remedy))
        };
        let mut rows = vec![None; ids.len()];
        for &(id, start, end) in &self.rows {
            let Some(node) = index.integer(id) else {
                let remedy = "add it there or remove its features";
                return refuse(&id.to_string(), "the node is not in target.csv", remedy);
            };
            if rows[node as usize].replace(start..end).is_some() {
                return refuse(&id.to_string(), "the node stands twice", "keep one of its lists");
            }
        }
        if let Some(node) = rows.iter().position(Option::is_none) {
            let remedy = "give it a list, which may be empty";
            return refuse(&ids.text(node as u32), "the node is missing", remedy);
        }
        let Some(width) = self.columns.iter().max().map(|&last| u64::from(last) + 1) else {
            return Err(Error::input(path, "has no features at all", "remove the file"));
        };
        check_claim(path.into(), "features", width, self.columns.len() as u64)?;
        let longest = rows.iter().flatten().map(ExactSizeIterator::len).max();
        let ones = vec![1.0; longest.unwrap_or(0)];
        store.features(width as usize, |sink| {
            let mut columns = Vec::new();
            for range in rows.into_iter().flatten() {
                columns.clear();
                columns.extend_from_slice(&self.columns[range]);
                // Binary: a feature that stands twice is still one.
                columns.sort_unstable();
                columns.dedup();
                sink.sparse(&columns, &ones[..columns.len()]).map_err(|error| error.at(path))?;
            }
            Ok(())
        })
    }
}

struct FeaturesSeed;

impl<'de> DeserializeSeed<'de> for FeaturesSeed {
    type Value = Lists;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Lists, D::Error> {
        source.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FeaturesSeed {
    type Value = Lists;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from node ids to lists of features")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Lists, A::Error> {
        let mut lists = Lists::default();
        while let Some(id) = entries.next_key::<String>()? {
            let number = id.parse().map_err(|_| {
                A::Error::custom(format!("node id {} is not an integer", shown(&id)))
            })?;
            let start = lists.columns.len();
            entries.next_value_seed(ListSeed(&mut lists.columns))?;
            lists.rows.push((number, start, lists.columns.len()));
        }
        Ok(lists)
    }
}

/// A list of features that is added to the others.
struct ListSeed<'a>(&'a mut Vec<u32>);

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of feature numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(feature) = list.next_element()? {
            self.0.push(feature);
        }
        Ok(())
    }
}
