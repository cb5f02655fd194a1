//! Paths and bytes: one file a format, the graph store, atomic writing.

pub mod contexts;
pub mod embeddings;
pub mod import;
pub mod model;
pub mod scratch;
pub mod store;
pub mod tensors;
pub mod training;

mod array_file;
mod atomic;
mod csr;
mod guard;
mod kind;
mod npy;
mod npz;
mod parts;
mod pickle;
mod table;
#[cfg(test)]
mod testing;
