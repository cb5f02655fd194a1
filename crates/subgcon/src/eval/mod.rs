//! What are embeddings good for? The only room that knows a label.
//!
//! Nothing here is seen by training: embeddings come in as they are, labels beside them.
//!
//! | file | question |
//! | --- | --- |
//! | `probe` | how much of the labels can a linear model read from embeddings? |
//! | `task` | what do labels ask of a model, and does it answer right? |
//! | `draw` | which nodes train, validate and test, where nobody has said? |
//! | `logistic` | which class does a linear model see in a row? |
//! | `likelihood` | how badly do weights explain classes, and which way is better? |
//! | `metric` | along which weights is that steep, before a step is taken? |
//! | `lbfgs` | where is a smooth convex function least? |
//! | `rows` | how do embeddings become rows that are fitted? |
//! | `span` | do fewer columns tell a linear model the same? |
//! | `surprise` | which of two models knows more, their confidence set aside? |
//! | `free` | what do features give that nothing was learnt for? |
//! | `directions` | how alike are directions, where they are nearly all the same? |
//! | `neighbours` | are a node's nearest nodes of its class? |
//! | `kmeans` | do embeddings fall into groups of their own? |
//! | `held_out` | which edges are held out, and which pairs stand beside them? |
//! | `links` | do embeddings know of edges that were held out? |
//! | `metrics` | how good are answers, as one number? |
//! | `checks` | can these embeddings, labels and roles be evaluated at all? |
//!
//! Every figure is the same for any number of threads. What scikit-learn also computes
//! agrees with it: `tests/golden/eval.py` writes what `tests/golden_eval.rs` compares.
//!
//! ```
//! use subgcon::eval::{ProbeSettings, Sizes, probe, random_splits};
//! use subgcon::graph::Labels;
//! use subgcon::math::Matrix;
//!
//! # fn main() -> subgcon::Result<()> {
//! // Two classes on two sides of a line.
//! let labels = Labels::from_integers(&(0..60).map(|node| Some(node % 2)).collect::<Vec<_>>());
//! let sides = (0..60).flat_map(|node| [(node % 2) as f32 - 0.5, node as f32 / 60.0]);
//! let embeddings = Matrix::of(60, 2, sides.collect());
//! let sizes = Sizes::PerClass { train: 5, validation: 5 };
//! for split in random_splits(&labels, sizes, 1, 3)? {
//!     let report = probe(&embeddings, &labels, &split, &ProbeSettings::default())?;
//!     assert_eq!(report.test.accuracy, 1.0);
//! }
//! # Ok(())
//! # }
//! ```

mod checks;
mod directions;
mod draw;
pub mod free;
pub mod held_out;
pub mod kmeans;
mod lbfgs;
mod likelihood;
pub mod links;
pub mod logistic;
mod metric;
pub mod metrics;
pub mod neighbours;
pub mod probe;
mod rows;
mod span;
mod surprise;
mod task;

pub use checks::unlabelled;
pub use draw::{Part, Sizes, random_splits};
pub use free::{FreeRow, free_rows};
pub use held_out::{HeldOut, LinkPairs, LinkSplit, hold_out_edges, split_edges};
pub use kmeans::{GroupReport, KMeansSettings, group_probe, k_means};
pub use links::{LinkProbe, LinkReport, PairScore, link_probe, link_report};
pub use logistic::{Logistic, LogisticSettings};
pub use neighbours::{NeighbourReport, Similarity, neighbour_probe, sim_at};
pub use probe::{Figures, ProbeReport, ProbeSettings, Validated, probe, validate};
