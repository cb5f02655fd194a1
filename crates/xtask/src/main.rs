//! Checks and benchmarks of this repository: `cargo xtask test`, of which `cargo xtask
//! package` is the Python package alone, and `cargo xtask bench NAME`. What a check needs
//! beyond the Rust toolchain is installed under `target/`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["package"] => release().and_then(|()| package()),
        ["bench", name, rest @ ..] => bench(name, rest),
        _ => {
            eprintln!(
                "usage: cargo xtask test\n       cargo xtask package\n       cargo xtask bench import|contexts|step|whole|probe|peers|python [ARGUMENTS]"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Every check and test that the project has.
fn test() -> Result<()> {
    let started = Instant::now();
    step("format", cargo(&["fmt", "--all", "--check"]))?;
    step(
        "lints",
        cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    )?;
    step("benches and examples", cargo(&["build", "--workspace", "--all-targets", "--quiet"]))?;
    step("tests", cargo(&["test", "--workspace", "--quiet"]))?;
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    step("documentation", doc)?;
    release()?;
    interop()?;
    package()?;
    println!("all checks passed in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn release() -> Result<()> {
    step("release build", cargo(&["build", "--release", "--quiet"]))
}

/// NumPy, SciPy and pyarrow open what we write, and agree with what we read.
fn interop() -> Result<()> {
    let Some(python) = python("test-env", "tests/interop/requirements.txt")? else {
        if env::var_os("CI").is_some() {
            bail!("python3 with venv is needed for the interoperability tests");
        }
        println!("== interoperability: SKIPPED, there is no python3 with venv on this machine");
        return Ok(());
    };
    let mut command = Command::new(python);
    command
        .arg("-m")
        .arg("pytest")
        .args(["-q", "-rs", "-p", "no:cacheprovider", "tests/interop"])
        .env("SUBGCON", root().join("target/release/subgcon"));
    step("interoperability", command)
}

/// The Python package, as a user gets it: its source distribution, the wheel that is built
/// from that, installed where nothing of the clone is seen, and its tests.
fn package() -> Result<()> {
    let crate_folder = root().join("crates/subgcon-python");
    let requirements = "crates/subgcon-python/tests/requirements.txt";
    let Some(python) = python("package-env", requirements)? else {
        if env::var_os("CI").is_some() {
            bail!("python3 with venv is needed for the Python package");
        }
        println!("== Python package: SKIPPED, there is no python3 with venv on this machine");
        return Ok(());
    };
    let folder = root().join("target/package");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("target/package")?;
    }
    let source = folder.join("source");
    std::fs::create_dir_all(&source).context("target/package")?;
    let mut pack = Command::new(&python);
    pack.args(["-m", "maturin", "sdist", "--out"]).arg(&folder).arg("--manifest-path");
    pack.arg(crate_folder.join("Cargo.toml"));
    step("source distribution", pack)?;
    let packed = only(&folder, "gz")?;
    // Files get the time of now: those in the archive all have the same, and cargo looks at it.
    let mut unpack = Command::new("tar");
    unpack.arg("-xmzf").arg(packed).arg("--strip-components=1").arg("-C").arg(&source);
    step("unpacking it", unpack)?;
    let pip = || {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        command
    };
    let mut build = pip();
    build.args(["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir"]).arg(&folder);
    build.arg(&source).env("CARGO_TARGET_DIR", root().join("target"));
    // The build backend calls `maturin` by name.
    let tools = python.parent().unwrap_or(root()).to_path_buf();
    let rest = env::var_os("PATH").unwrap_or_default();
    build.env("PATH", env::join_paths([tools].into_iter().chain(env::split_paths(&rest)))?);
    step("wheel", build)?;
    let mut install = pip();
    install.args(["install", "--force-reinstall", "--no-deps"]).arg(only(&folder, "whl")?);
    step("installing it", install)?;
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"])
        .arg(crate_folder.join("tests"))
        .env("SUBGCON", root().join("target/release/subgcon"))
        .env_remove("PYTHONPATH");
    step("tests of the Python package", tests)
}

/// The one file in a folder with this ending.
fn only(folder: &Path, ending: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    match found.as_slice() {
        [path] => Ok(path.clone()),
        _ => bail!("{}: {} files end in .{ending}, expected one", folder.display(), found.len()),
    }
}

/// A benchmark beside other programs, one script or a folder of them; run by hand.
fn bench(name: &str, rest: &[&str]) -> Result<()> {
    let folder = root().join("bench").join(name);
    let (script, requirements) = match folder.is_dir() {
        true => (folder.join("run.py"), format!("bench/{name}/requirements.txt")),
        false => (
            root().join("bench").join(format!("{name}_speed.py")),
            format!("bench/{name}_requirements.txt"),
        ),
    };
    if !script.exists() {
        bail!("no benchmark {name:?}: {} is not there", script.display());
    }
    step("release build", cargo(&["build", "--release", "--examples", "--bins", "--quiet"]))?;
    let python = python(&format!("bench-{name}-env"), &requirements)?
        .context("python3 with venv is needed for benchmarks beside other programs")?;
    let mut command = Command::new(python);
    command
        .arg(script)
        .arg("--subgcon")
        .arg(root().join("target/release/subgcon"))
        .arg("--work")
        .arg(root().join("target/bench").join(name))
        .args(rest);
    step(&format!("benchmark {name}"), command)
}

/// The Python of an environment under `target/` that has what a file of
/// requirements names; nothing where the machine has no Python.
fn python(environment: &str, requirements: &str) -> Result<Option<PathBuf>> {
    let folder = root().join("target").join(environment);
    let python = folder.join("bin/python");
    let wanted = std::fs::read(root().join(requirements)).context(requirements.to_owned())?;
    let installed = folder.join("installed.txt");
    if std::fs::read(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(python));
    }
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder).status();
    if !made.is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    install.arg(requirements);
    step(&format!("packages of {requirements}"), install)?;
    std::fs::write(&installed, wanted)?;
    Ok(Some(python))
}

fn step(name: &str, mut command: Command) -> Result<()> {
    println!("== {name}");
    let started = Instant::now();
    let status = command
        .current_dir(root())
        .status()
        .with_context(|| format!("{name}: cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{name} failed ({status})");
    }
    println!("   {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The Python package is checked whether there is a Python or not.
    command.args(arguments).env("PYO3_NO_PYTHON", "1");
    command
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
