//! How does long work let Python live?
//!
//! Work runs on threads of its own, detached from the interpreter, so that other Python
//! threads go on. The thread that called waits, and every [`TICK`] asks Python whether
//! Ctrl-C was pressed and shows how far along the work is. To stop it, the next
//! [`Progress`] call of the work unwinds its threads: nothing in the library has to know.
//! Work that makes no such call for a while is not waited for longer than [`PATIENCE`],
//! unless it has a state to keep: it ends by itself, with all that it owns.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use subgcon::progress::Progress;

use crate::errors::{raised, wrong};

/// Between two looks at the interpreter.
const TICK: Duration = Duration::from_millis(50);

/// How long stopped work is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// Work after which memory is given back: after less, looking for it might take longer than the work did.
const LONG: Duration = TICK;

/// What unwinds a stopped piece of work.
struct Stopped;

/// How far along work is, and whether it is to stop.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    keeps: AtomicBool,
    done: AtomicU64,
    works: Mutex<Works>,
}

/// What is under way, and what has ended since somebody looked: under one lock, so that what is told
/// comes in the order in which it was done.
#[derive(Debug, Default)]
struct Works {
    now: Work,
    ended: Vec<(Work, u64)>,
}

#[derive(Debug, Default, Clone)]
struct Work {
    what: String,
    total: u64,
    unit: &'static str,
    note: String,
}

impl Watch {
    /// Whether the work is to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Says whether stopped work has a state to keep, and is waited for.
    pub(crate) fn keeps(&self, keeps: bool) {
        self.keeps.store(keeps, Relaxed);
    }

    /// Leaves the work where it is, if it is to stop.
    pub(crate) fn go_on(&self) {
        if self.stopped() {
            resume_unwind(Box::new(Stopped));
        }
    }

    fn works(&self) -> MutexGuard<'_, Works> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the interpreter, and tells what has ended and what is under way.
    fn tick(&self, py: Python<'_>, show: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let (mut told, now) = {
            let mut works = self.works();
            (std::mem::take(&mut works.ended), (works.now.clone(), self.done.load(Relaxed)))
        };
        told.push(now);
        told.retain(|(work, _)| !work.what.is_empty());
        let Some(show) = show else { return Ok(()) };
        told.into_iter().try_for_each(|(work, done)| {
            let Work { what, total, unit, note } = work;
            show.call1(py, (what, done, total, unit, note)).map(drop)
        })
    }
}

impl Progress for Watch {
    fn begin(&self, what: &str, total: u64, unit: &'static str) {
        self.go_on();
        let mut works = self.works();
        self.done.store(0, Relaxed);
        works.now = Work { what: what.to_owned(), total, unit, note: String::new() };
    }

    fn advance(&self, amount: u64) {
        self.go_on();
        self.done.fetch_add(amount, Relaxed);
    }

    fn note(&self, words: &str) {
        words.clone_into(&mut self.works().now.note);
    }

    fn end(&self) {
        let mut works = self.works();
        let ended = (std::mem::take(&mut works.now), self.done.load(Relaxed));
        works.ended.push(ended);
    }
}

/// Runs work on `jobs` threads (all cores where nothing is said), watched by `show`: called
/// with what is done, how much of it, of how much, in what, and a note. Where all goes well it is
/// told the end of each piece of work, however short.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    jobs: Option<usize>,
    show: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> subgcon::Result<T> + Send + 'static,
) -> PyResult<T> {
    // A pool for each call: a process that was forked has no threads of its parent's.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    let pool = pool.map_err(|error| wrong(format!("n_jobs = {jobs:?}: {error}")))?;
    let watch = Arc::new(Watch::default());
    let (answer, waiting) = channel();
    let watched = Arc::clone(&watch);
    std::thread::spawn(move || {
        let started = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| pool.install(|| work(&watched))));
        if started.elapsed() > LONG {
            give_back();
        }
        // Nobody may be waiting any more.
        let _ = answer.send(done);
    });
    let (seen, show) = (&watch, show.as_ref());
    match py.detach(move || wait(seen, &waiting, show))? {
        Ok(Ok(answer)) => watch.tick(py, show).map(|()| answer),
        Ok(Err(error)) => Err(raised(error)),
        Err(panic) => resume_unwind(panic),
    }
}

/// Gives what long work freed back to the system. glibc keeps it for the threads that freed
/// it; those end with their pool, and the next call's may get room of their own beside it.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes the allocator's locks and touches nothing but free memory.
        #[allow(unsafe_code)]
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        malloc_trim(0);
    }
}

/// Waits for an answer, looking at the interpreter now and then; its error stops the work.
fn wait<T>(watch: &Watch, answer: &Receiver<T>, show: Option<&Py<PyAny>>) -> PyResult<T> {
    let none_yet =
        |found: &Result<T, RecvTimeoutError>| matches!(found, Err(RecvTimeoutError::Timeout));
    loop {
        let found = answer.recv_timeout(TICK);
        if !none_yet(&found) {
            return Ok(found.expect("the work always answers"));
        }
        if let Err(error) = Python::attach(|py| watch.tick(py, show)) {
            watch.stop.store(true, Relaxed);
            let asked = Instant::now();
            let patient = || watch.keeps.load(Relaxed) || asked.elapsed() < PATIENCE;
            while patient() && none_yet(&answer.recv_timeout(TICK)) {}
            return Err(error);
        }
    }
}
