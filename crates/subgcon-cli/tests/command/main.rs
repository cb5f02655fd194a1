//! The command as a user types it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod benchmark;
mod contexts;
mod eval;
mod place;
mod reproduce;
mod stores;
mod told;
mod train;
