//! The `subgcon` command: raw arguments become checked settings, one function
//! runs each subcommand. Results go to stdout, progress and errors to stderr;
//! the exit status is 0, 1 for an error and 2 for wrong usage.

mod args;
mod commands;
mod format;
mod picture;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader that has seen enough (`| head`) is no error.
            if is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global()?;
    }
    let progress = progress::Bars::new(arguments.progress);
    match arguments.command {
        Command::Import(import) => commands::import::run(&import, &progress),
        Command::Generate(generate) => commands::generate::run(&generate, &progress),
        Command::Info(info) => commands::info::run(&info, &progress),
        Command::Contexts(contexts) => commands::contexts::run(&contexts, &progress),
        Command::Train(train) => commands::train::run(&train, &progress),
        Command::Embed(embed) => commands::embed::run(&embed, &progress),
        Command::Eval(eval) => commands::eval::run(&eval),
        Command::Benchmark(benchmark) => commands::benchmark::run(&benchmark, &progress),
        Command::Links(links) => commands::links::run(&links, &progress),
        Command::Reproduce(reproduce) => commands::reproduce::run(&reproduce, &progress),
        Command::Demo(demo) => commands::demo::run(&demo, &progress),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
