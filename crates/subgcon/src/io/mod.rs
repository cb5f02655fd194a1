//! Paths and bytes: one file a format, the graph store, atomic writing.

pub mod contexts;
pub mod import;
pub mod store;

mod array_file;
mod atomic;
mod csr;
mod guard;
mod npy;
mod npz;
mod pickle;
mod table;
