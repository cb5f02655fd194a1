//! Node embeddings for large attributed graphs, learnt without labels.

pub mod error;
pub mod graph;
pub mod io;
pub mod math;
pub mod progress;
pub mod rng;

pub use error::{Error, Result};
