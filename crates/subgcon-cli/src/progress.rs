//! Progress on stderr: a bar with rate and time left for anything that takes
//! longer than a second. Where stderr is no terminal nothing is shown unless it
//! was asked for, and then as plain lines.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use subgcon::progress::Progress;

use crate::args::ShowProgress;
use crate::format::thousands;

/// Work shorter than this passes in silence.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Draws the progress of one piece of work after another.
pub(crate) struct Bars {
    style: Style,
    current: Mutex<Option<Work>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Hidden,
    Bar,
    Lines,
}

struct Work {
    what: String,
    note: String,
    unit: &'static str,
    total: u64,
    done: u64,
    started: Instant,
    shown: Option<Instant>,
    bar: ProgressBar,
}

impl Bars {
    pub(crate) fn new(show: ShowProgress) -> Bars {
        let style = match (show, std::io::stderr().is_terminal()) {
            (ShowProgress::Never, _) | (ShowProgress::Auto, false) => Style::Hidden,
            (_, true) => Style::Bar,
            (ShowProgress::Always, false) => Style::Lines,
        };
        Bars { style, current: Mutex::new(None) }
    }

    fn work(&self) -> std::sync::MutexGuard<'_, Option<Work>> {
        self.current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Progress for Bars {
    fn begin(&self, what: &str, total: u64, unit: &'static str) {
        if self.style == Style::Hidden {
            return;
        }
        let bar = ProgressBar::with_draw_target(
            (total > 0).then_some(total),
            ProgressDrawTarget::hidden(),
        );
        let template = match (total > 0, unit) {
            (true, "bytes") => {
                "{msg:24} {bar:24} {bytes:>10}/{total_bytes} {bytes_per_sec} {eta} left"
            }
            (true, _) => {
                "{msg:24} {bar:24} {human_pos:>12}/{human_len} {prefix} {per_sec} {eta} left"
            }
            (false, "bytes") => "{msg:24} {spinner} {bytes} {bytes_per_sec} {elapsed}",
            (false, _) => "{msg:24} {spinner} {human_pos} {prefix} {per_sec} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.set_prefix(unit);
        let (what, started) = (what.to_owned(), Instant::now());
        *self.work() = Some(Work {
            what,
            note: String::new(),
            unit,
            total,
            done: 0,
            started,
            shown: None,
            bar,
        });
    }

    fn advance(&self, amount: u64) {
        if self.style == Style::Hidden {
            return;
        }
        let mut current = self.work();
        let Some(work) = current.as_mut() else { return };
        work.done += amount;
        work.bar.inc(amount);
        let now = Instant::now();
        let elapsed = now - work.started;
        match (self.style, work.shown) {
            (Style::Bar, None) if elapsed >= PATIENCE => {
                work.bar.set_draw_target(ProgressDrawTarget::stderr());
                work.shown = Some(now);
            }
            (Style::Lines, shown) if now - shown.unwrap_or(work.started) >= LINE_EVERY => {
                eprintln!("{}", work.line(elapsed));
                work.shown = Some(now);
            }
            _ => {}
        }
    }

    fn note(&self, words: &str) {
        if let Some(work) = self.work().as_mut() {
            work.note = words.to_owned();
            work.bar.set_message(format!("{} {words}", work.what));
        }
    }

    fn end(&self) {
        if let Some(work) = self.work().take() {
            if self.style == Style::Lines && work.started.elapsed() >= PATIENCE {
                eprintln!("{}", work.line(work.started.elapsed()));
            }
            work.bar.finish_and_clear();
        }
    }
}

impl Work {
    fn line(&self, elapsed: Duration) -> String {
        let rate = self.done as f64 / elapsed.as_secs_f64().max(1e-9);
        let of =
            if self.total > 0 { format!(" of {}", thousands(self.total)) } else { String::new() };
        let line = format!("{}: {}{of} {}", self.what, thousands(self.done), self.unit);
        let mut line = line.trim_end().to_owned();
        line += &match rate {
            1.0.. => format!(", {}/s", thousands(rate as u64)),
            _ if self.done > 0 => format!(", one in {:.1} s", 1.0 / rate),
            _ => String::new(),
        };
        if self.total > self.done && rate > 0.0 {
            let left = Duration::from_secs_f64((self.total - self.done) as f64 / rate);
            line += &format!(", {} left", HumanDuration(left));
        }
        if !self.note.is_empty() {
            line += &format!(", {}", self.note);
        }
        line
    }
}
