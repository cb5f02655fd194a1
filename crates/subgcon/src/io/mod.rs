//! Paths and bytes: one file a format, the graph store, atomic writing.

pub mod import;
pub mod store;

mod atomic;
mod csr;
mod guard;
mod npy;
mod npz;
mod pickle;
mod table;
