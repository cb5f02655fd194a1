//! The graph store: a folder of plain arrays with a manifest.
//!
//! Written once, whole or not at all ([`StoreWriter`]); opened by mapping
//! ([`Store`]), which reads the manifest and nothing else; checked in full by
//! [`Store::verify`]. Other programs open the same files: `numpy.load(…,
//! mmap_mode="r")` for the arrays, any Arrow reader for the ids. Every file and
//! field is described in `docs/formats.md`.

mod features;
mod ids;
mod manifest;
mod open;
mod verify;
mod write;

pub use super::array_file::ArrayEntry;
pub use features::{FeatureError, FeatureSink};
pub use manifest::{
    Dropped, FeatureEntry, FeatureStorage, IdEntry, IdKind, LabelEntry, LabelKind, Manifest,
    Origin, SplitEntry, VERSION,
};
pub use open::Store;
pub use write::{StoreOptions, StoreWriter};

/// A file of the store that is not what it was.
fn damaged(path: &std::path::Path, problem: impl Into<String>) -> crate::Error {
    crate::Error::store(path, problem, DAMAGED)
}

const DAMAGED: &str = "the store is damaged: import the graph again";

/// The names of a store's files.
mod names {
    pub(super) const MANIFEST: &str = "manifest.json";
    pub(super) const OFFSETS: &str = "offsets.npy";
    pub(super) const NEIGHBOURS: &str = "neighbours.npy";
    pub(super) const WEIGHTS: &str = "weights.npy";
    pub(super) const IDS: &str = "ids.arrow";
    pub(super) const FEATURES: &str = "features.npy";
    pub(super) const FEATURE_OFFSETS: &str = "feature_offsets.npy";
    pub(super) const FEATURE_COLUMNS: &str = "feature_columns.npy";
    pub(super) const FEATURE_VALUES: &str = "feature_values.npy";
    pub(super) const LABELS: &str = "labels.npy";
    pub(super) const SPLITS: &str = "splits.npy";
}
