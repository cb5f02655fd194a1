//! The `subgcon` command: raw arguments become checked settings, one function
//! runs each subcommand. Results go to stdout, progress and errors to stderr;
//! the exit status is 0, 2 where the command line cannot be understood, and 1 for every other
//! error, among them values that only the work shows to be wrong.

mod args;
mod commands;
mod format;
mod picture;
mod progress;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use args::{Arguments, Command};

/// Of each thread: what the main one has on Linux.
const STACK: usize = 8 << 20;

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
    let arguments = arguments();
    let threads = arguments.threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build_global()?;
    let progress = progress::Bars::new(arguments.progress);
    let told = arguments.threads.is_some();
    // On a thread of the pool: one outside would be put to sleep and woken for every loop
    // that runs in parallel, which shows where a graph is small.
    rayon::scope(|_| dispatch(arguments.command, told, &progress))
}

/// What was typed. A negative number is a value, which whoever wants another refuses, and no unknown flag
/// (but -1e-3 and -1,2, which are no numbers to clap).
fn arguments() -> Arguments {
    fn numbers(command: clap::Command) -> clap::Command {
        let number = |argument: clap::Arg| {
            let flag = !argument.is_positional() && argument.get_action().takes_values();
            if flag { argument.allow_negative_numbers(true) } else { argument }
        };
        command.mut_args(number).mut_subcommands(numbers)
    }
    let matches = numbers(Arguments::command()).get_matches();
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// `told`: the number of threads is what the user asked for.
fn dispatch(command: Command, told: bool, progress: &progress::Bars) -> anyhow::Result<()> {
    match command {
        Command::Import(import) => commands::import::run(&import, progress),
        Command::Generate(generate) => commands::generate::run(&generate, progress),
        Command::Info(info) => commands::info::run(&info, progress),
        Command::Contexts(contexts) => commands::contexts::run(&contexts, progress),
        Command::Train(train) => commands::train::run(&train, progress),
        Command::Embed(embed) => commands::embed::run(&embed, progress),
        Command::Eval(eval) => commands::eval::run(&eval, progress),
        Command::Benchmark(benchmark) => commands::benchmark::run(&benchmark, told, progress),
        Command::Links(links) => commands::links::run(&links, progress),
        Command::Reproduce(reproduce) => commands::reproduce::run(&reproduce, told, progress),
        Command::Demo(demo) => commands::demo::run(&demo, progress),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
