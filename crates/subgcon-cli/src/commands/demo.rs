//! `subgcon demo`: the main job on a small graph made for it.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use subgcon::eval::ProbeSettings;
use subgcon::graph::Split;
use subgcon::graph::generate::Communities;
use subgcon::io::contexts::ContextTable;
use subgcon::io::model::read_model;
use subgcon::io::store::{Store, StoreOptions, StoreWriter};
use subgcon::progress::Silent;

use super::eval::{SplitArguments, labels, mean, rows_of};
use super::figures::{Run, Seconds};
use super::measure::Measure;
use super::runs::{Ground, each_free_row};
use super::train::features;
use super::{contexts, embed, info, report_written, shell_word, train};
use crate::format::{bar, thousands};
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
        thousands(communities.nodes),
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
    writeln!(out, "\n6. what a linear model reads from them:\n")?;
    write!(out, "{}", judged(path, &model, &embeddings)?)?;
    let shown = shell_word(path);
    writeln!(out, "\nwhat to type next:")?;
    let next = [
        (format!("benchmark {shown} --seeds 5"), "the same for five seeds, with errors"),
        (format!("contexts {shown} --node 7"), "look at one context"),
        (format!("info {shown} --verify"), "check every byte of it"),
        ("import table --edges edges.csv --nodes nodes.csv -o mine.graph".into(), "your own graph"),
    ];
    for (words, why) in next {
        writeln!(out, "  {:<72} {why}", format!("subgcon {words}"))?;
    }
    Ok(())
}

/// The learnt embeddings and the rows that cost nothing by the same probe, and what learning
/// added.
fn judged(path: &Path, model: &Path, embeddings: &Path) -> anyhow::Result<String> {
    let store = Store::open(path)?;
    let labels = labels(&store)?;
    let (model, _) = read_model(model)?;
    let (features, _) = features(&store, &model.settings)?;
    let table = ContextTable::sample(&store, &model.settings.contexts, &Silent)?;
    let measure = Measure {
        labels,
        splits: SplitArguments::OWN.of(&store, labels, 0)?,
        settings: ProbeSettings::default(),
    };
    let learnt = measure.run(&rows_of(embeddings, &store)?, 0, Seconds::default())?;
    let ground = Ground {
        adjacency: store.adjacency()?,
        features: &features,
        contexts: &table.contexts,
        seconds: 0.0,
    };
    let mut free = Vec::new();
    each_free_row(&model, ground, |row| {
        free.push((row.name.clone(), measure.run_free(row)?));
        Ok(())
    })?;
    let [train, validation, test] = measure.splits.first().map_or([0; 3], Split::counts);
    let mut text = format!(
        "   logistic regression on {train} labelled papers, its strength chosen on {validation} \
         others:\n   share of {} papers whose subject it tells\n\n",
        thousands(test as u64)
    );
    let mut line = |name: &str, run: &Run| {
        let (share, width) = (mean(&run.test), run.width);
        let columns = format!("{width} columns");
        text +=
            &format!("   {name:<38} {:>5.1} %  {:<20}  {columns}\n", 100.0 * share, bar(share, 20));
    };
    line("learnt, without a label", &learnt);
    free.iter().for_each(|(name, run)| line(name, run));
    // The strongest by the figure that is shown: the reader sees the same.
    let best = free
        .iter()
        .max_by(|a, b| mean(&a.1.test).total_cmp(&mean(&b.1.test)))
        .context("there are always raw features")?;
    let more = 100.0 * (mean(&learnt.test) - mean(&best.1.test));
    text += &match more > 0.0 {
        true => format!(
            "\n   learning added {more:.1} points to the best of what costs nothing ({});\n   one run on one \
             split, so a point more or less may be chance\n",
            best.0
        ),
        false => format!(
            "\n   learning added nothing here: the best of what costs nothing ({}) has {:.1} points more\n",
            best.0, -more
        ),
    };
    Ok(text)
}
