//! The ways in for graphs from elsewhere, one file a format.
//!
//! An importer reads its files, checks them and hands ids, edges, features,
//! labels and splits to a [`StoreWriter`](super::store::StoreWriter); it never
//! repairs anything silently.

