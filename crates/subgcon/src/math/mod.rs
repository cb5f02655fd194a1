//! Numbers only: arrays that may be mapped from a file, and sparse matrices.

mod array;
mod sparse;

pub use array::{Array, Element};
pub use sparse::Sparse;
