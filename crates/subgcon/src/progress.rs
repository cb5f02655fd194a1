//! How long work reports that it is getting on.
//!
//! The library never prints. Whoever calls it may watch: the command draws a
//! bar, the Python skin may call back, and [`Silent`] does nothing.

/// Watches one piece of work after another. Called from any thread.
pub trait Progress: Sync {
    /// A new piece of work begins: what it is, how much there is of it (0 when
    /// unknown) and what it is counted in ("edges", "bytes").
    fn begin(&self, what: &str, total: u64, unit: &'static str);
    /// Some of it is done.
    fn advance(&self, amount: u64);
    /// How it goes, in a few words: "loss 0.41".
    fn note(&self, words: &str) {
        let _ = words;
    }
    /// All of it is done.
    fn end(&self);
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _what: &str, _total: u64, _unit: &'static str) {}
    fn advance(&self, _amount: u64) {}
    fn end(&self) {}
}
