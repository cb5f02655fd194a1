//! `subgcon demo`: the main job on a small graph made for it.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use subgcon::graph::generate::Communities;
use subgcon::io::store::{Store, StoreOptions, StoreWriter};

use super::{contexts, embed, info, report_written, shell_word, train};
use crate::progress::Bars;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store to write; an earlier demo of that name is replaced
    #[arg(short, long, value_name = "NAME.graph", default_value = "demo.graph")]
    output: PathBuf,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

const FORMAT: &str = "demo";

pub(crate) fn run(arguments: &Arguments, progress: &Bars) -> anyhow::Result<()> {
    let path = &arguments.output;
    // Only what a demo wrote is replaced without being asked.
    let ours = Store::open(path).is_ok_and(|store| store.manifest().origin.format == FORMAT);
    if path.exists() && !ours {
        anyhow::bail!("{}: is there already and is no demo; choose a name with -o", path.display());
    }
    let (model, embeddings) = (path.with_extension("model"), path.with_extension("parquet"));
    if let Some(other) = [&model, &embeddings].into_iter().find(|other| other.exists() && !ours) {
        let shown = other.display();
        anyhow::bail!("{shown}: is there already and is of no demo; choose a name with -o");
    }
    let options = StoreOptions { replace: ours, ..StoreOptions::default() };
    let mut store = StoreWriter::create(path, options, progress)?;
    let communities = Communities { seed: arguments.seed, ..Communities::default() };
    let mut origin = communities.store(&mut store)?;
    origin.format = FORMAT.into();
    let manifest = store.finish(origin)?;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "1. made a graph: {} papers on {} subjects; three citations in four stay within a subject,\n   \
         two words in five belong to it (seed {})",
        crate::format::thousands(communities.nodes),
        communities.classes,
        arguments.seed
    )?;
    writeln!(out, "   {}\n", report_written(path, &manifest).replace('\n', "\n   "))?;
    writeln!(out, "2. what is in it:\n")?;
    drop(out);
    info::run(&info::Arguments::of(path), progress)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n3. the context of every node, by personalised PageRank:\n")?;
    drop(out);
    contexts::run(&contexts::Arguments::of(path), progress)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n4. an encoder, learnt from the contexts without looking at a label:\n")?;
    drop(out);
    train::run(&train::Arguments::of(path, &model), progress)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n5. an embedding of every node:\n")?;
    drop(out);
    embed::run(&embed::Arguments::of(path, &model, &embeddings), progress)?;
    let mut out = std::io::stdout().lock();
    let shown = shell_word(path);
    writeln!(out, "\nwhat to type next:")?;
    writeln!(out, "  subgcon contexts {shown} --node 7     look at one context")?;
    writeln!(out, "  subgcon info {shown} --verify     check every byte of it")?;
    writeln!(
        out,
        "  subgcon import table --edges edges.csv --nodes nodes.csv -o mine.graph     your own graph"
    )?;
    Ok(())
}
