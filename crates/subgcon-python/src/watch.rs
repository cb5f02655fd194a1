//! How does long work let Python live?
//!
//! Work runs on threads of its own, detached from the interpreter, so that other Python
//! threads go on. The thread that called waits, and every [`TICK`] asks Python whether
//! Ctrl-C was pressed and shows how far along the work is. To stop it, the next
//! [`Progress`] call of the work unwinds its threads: nothing in the library has to know.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use subgcon::progress::Progress;

use crate::errors::{raised, wrong};

/// Between two looks at the interpreter.
const TICK: Duration = Duration::from_millis(50);

/// What unwinds a stopped piece of work.
struct Stopped;

/// How far along work is, and whether it is to stop.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    done: AtomicU64,
    work: Mutex<Work>,
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

    /// Leaves the work where it is, if it is to stop.
    pub(crate) fn go_on(&self) {
        if self.stopped() {
            resume_unwind(Box::new(Stopped));
        }
    }

    fn work(&self) -> std::sync::MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, py: Python<'_>, show: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        if let Some(show) = show {
            let Work { what, total, unit, note } = self.work().clone();
            if !what.is_empty() {
                show.call1(py, (what, self.done.load(Relaxed), total, unit, note))?;
            }
        }
        Ok(())
    }
}

impl Progress for Watch {
    fn begin(&self, what: &str, total: u64, unit: &'static str) {
        self.go_on();
        self.done.store(0, Relaxed);
        *self.work() = Work { what: what.to_owned(), total, unit, note: String::new() };
    }

    fn advance(&self, amount: u64) {
        self.go_on();
        self.done.fetch_add(amount, Relaxed);
    }

    fn note(&self, words: &str) {
        words.clone_into(&mut self.work().note);
    }

    fn end(&self) {}
}

/// Runs work on `jobs` threads (all cores where nothing is said), watched by `show`: called
/// with what is done, how much of it, of how much, in what, and a note.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    show: Option<Py<PyAny>>,
    work: impl FnOnce(&Watch) -> subgcon::Result<T> + Send,
) -> PyResult<T> {
    // A pool for each call: a process that was forked has no threads of its parent's.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build();
    let pool = pool.map_err(|error| wrong(format!("n_jobs = {jobs:?}: {error}")))?;
    let watch = Watch::default();
    let (finished, interrupted) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, waiting) = channel::<()>();
            let (pool, watch) = (&pool, &watch);
            let worker = scope.spawn(move || {
                // Dropped when the work ends, in whatever way.
                let _done = done;
                pool.install(|| work(watch))
            });
            let mut interrupted = None;
            while waiting.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.is_none() {
                    interrupted = Python::attach(|py| watch.tick(py, show.as_ref())).err();
                    watch.stop.store(interrupted.is_some(), Relaxed);
                }
            }
            (worker.join(), interrupted)
        })
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    match finished {
        Ok(answer) => answer.map_err(raised),
        Err(panic) => resume_unwind(panic),
    }
}
