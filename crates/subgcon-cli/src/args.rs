//! What a user can type.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{
    benchmark, contexts, demo, embed, eval, generate, import, info, links, reproduce, train,
};

/// More than any one machine has cores; a slip of the hand would take the machine down.
const MOST_THREADS: i64 = 1024;

/// Node embeddings for large attributed graphs, learnt without labels.
#[derive(Debug, Parser)]
#[command(name = "subgcon", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Threads to use; all cores unless told (`benchmark`: no more than one per 4,096 nodes). Results do not depend on it
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS),
        help_heading = "Everywhere"
    )]
    pub(crate) threads: Option<u16>,

    /// Progress on stderr: bars on a terminal, or always (lines where stderr is no terminal)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Everywhere"
    )]
    pub(crate) progress: ShowProgress,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowProgress {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read a graph from files into a store
    Import(import::Arguments),
    /// Make a synthetic graph of any size
    Generate(generate::Arguments),
    /// Show what a store holds
    Info(info::Arguments),
    /// Find the context of every node: the nodes that matter to it
    Contexts(contexts::Arguments),
    /// Learn an encoder, without labels
    Train(train::Arguments),
    /// Embed the nodes of a graph with a trained model
    Embed(embed::Arguments),
    /// Measure embeddings by the labels of a store
    Eval(eval::Arguments),
    /// Train, embed and measure for many seeds, beside rows that cost nothing
    Benchmark(benchmark::Arguments),
    /// Hold edges out, train on the rest, and see whether embeddings know of them
    Links(links::Arguments),
    /// Redo the paper's experiments, with its own numbers beside
    Reproduce(reproduce::Arguments),
    /// Run the main job on a small graph made for it
    Demo(demo::Arguments),
}
