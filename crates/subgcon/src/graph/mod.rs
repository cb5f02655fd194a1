//! Nodes and edges, and what is known of each node.
//!
//! Inside the program a node is a number below n (`u32`). The user's own names
//! for nodes ([`Ids`]), their [`Features`], [`Labels`] and [`Split`]s lie
//! beside, in the same order.

mod adjacency;
mod arrays;
mod edges;
mod features;
mod ids;
mod labels;
mod merge;
mod smooth;
mod splits;
mod structural;
mod summary;

pub mod generate;

pub use adjacency::{Adjacency, AdjacencyBuilder, MAX_NODES, node_count};
pub(crate) use edges::check_weight;
pub use edges::{EdgeChunk, EdgeList};
pub use features::Features;
pub(crate) use ids::canonical_integer;
pub use ids::{DuplicateId, IdIndex, Ids, Strings};
pub use labels::Labels;
pub use merge::{ArcSink, Duplicates, EdgeRules, MergeCounts, merge};
pub use smooth::{Smoother, Smoothing, smooth};
pub(crate) use splits::count_roles;
pub use splits::{Role, Split};
pub use structural::{structural, structural_names};
pub use summary::{Components, DegreeBin, DegreeSummary, components, degrees};
