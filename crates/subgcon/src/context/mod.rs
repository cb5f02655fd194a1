//! Which nodes matter to a node?
//!
//! The context of node i is i itself and the nodes with the largest scores in
//! row i of (paper, Eq. 1, with the inverse it leaves out; `restart` = 0.15)
//!
//! ```text
//! S = restart · (I − (1 − restart) · A D⁻¹)⁻¹ = Σ_t restart (1 − restart)^t (A D⁻¹)^t
//! ```
//!
//! A(i, j) is the weight of the arc i → j and D the diagonal of A's **column**
//! sums, so that A D⁻¹ is column-normalised: D(j) is what arrives at j. Hence
//!
//! ```text
//! S(i, j) = restart · [i = j] + (1 − restart) · Σ_u S(i, u) A(u, j) / D(j)
//! ```
//!
//! and scores spread from i along the arcs as they point; nobody needs the
//! transpose, only D. A context holds nodes that can be reached from its centre.
//!
//! In an undirected graph D is the degree d and S(i, j) = d_i · π_i(j) / d_j with
//! π_i ordinary personalised PageRank from i: the ranking is **PageRank divided by
//! degree**. [`Ranking::PageRank`] leaves the division out. In a directed graph it
//! ranks by the walk that leaves u with probability w / out-weight(u); a walk that
//! stands on a node without leaving arcs ends there, and what it had left is lost.
//!
//! What is reported as `pagerank` is π_i(j), for every ranking and graph but
//! one: a directed graph ranked by S reports S(i, j) · D(j) / out-weight(i), which
//! is the same thing where the graph happens to be symmetric.
//!
//! Laws. The centre stands first; then score descending, then node number
//! ascending. A context is shorter than asked for only where fewer nodes can be
//! reached; a node without arcs is its own context, with PageRank 1. A result is a
//! function of (graph, node, settings): the number of threads, the order of the
//! nodes and what was sampled before do not reach it.
//!
//! | file | its question |
//! | --- | --- |
//! | `settings` | what may be asked for |
//! | `view` | what a sampler has to know of a graph |
//! | `overlay` | a graph with one node more |
//! | `push` | where does the score go (forward push) |
//! | `visited` | what a push has met |
//! | `hub` | the best of a very long list |
//! | `power` | the same by whole steps over the graph |
//! | `together` | the same for several nodes at once |
//! | `rank` | scores from settled and residual mass, with their error |
//! | `top` | the k best |
//! | `certify` | is this proven to be the right set |
//! | `bits` | who is connected inside a context |
//! | `table` | contexts of many nodes, as arrays |
//! | `sample` | one node, or all of them in parallel |

mod bits;
mod certify;
mod composition;
mod hub;
mod overlay;
mod power;
mod push;
mod rank;
mod sample;
mod settings;
mod table;
mod together;
mod top;
mod view;
mod visited;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

pub(crate) use bits::Words;
pub use bits::{BitRows, induced_bits};
pub use composition::{Composition, MAX_HOPS, distances};
#[cfg(test)]
pub(crate) use oracle::build;
pub use overlay::WithNode;
pub use power::exact_scores;
pub use sample::{Sampler, context, sample};
pub use settings::{ContextSettings, DEFAULT_EPSILON, MAX_BIT_SIZE, MAX_SIZE, Method, Ranking};
pub use table::{Context, Contexts, Flags, NO_NODE};
pub use view::{AdjacencyView, GraphView};
