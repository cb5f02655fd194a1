//! Importers through the public interface: small files of every format, every
//! way in which they can be wrong, random damage, and the real graphs.

#![allow(clippy::unwrap_used, unreachable_pub, reason = "all of this crate is a test")]

mod fixtures;
mod harness;
mod hostile;
mod mutation;
mod progress;
mod real;
mod toy;
mod valid;
