//! The ways in for graphs from elsewhere, one file a format.
//!
//! An importer reads its files, checks them and hands ids, edges, features,
//! labels and splits to a [`StoreWriter`](super::store::StoreWriter); it never
//! repairs anything silently.

mod class_map;
mod generated;
mod graphsage;
mod graphsaint;
mod matrix;
mod musae;
mod npz;
mod ogb;
mod planetoid;
mod scipy;
mod source;
mod table;
mod text;

pub use graphsage::GraphSage;
pub use graphsaint::GraphSaint;
pub use musae::Musae;
pub use npz::Npz;
pub use ogb::Ogb;
pub use planetoid::Planetoid;
pub use table::Table;
