//! What may be asked of a context.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The longest context.
pub const MAX_SIZE: usize = 1024;

/// The longest context that gets its induced adjacency as bit rows.
pub const MAX_BIT_SIZE: usize = 64;

/// How far push goes where nothing else is asked for: with the second look nearly the
/// contexts of 1e-4, and embeddings as good (docs/search.md, fifth search), in half the time.
pub const DEFAULT_EPSILON: f64 = 3e-4;

/// How scores are computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Method {
    /// Forward push: visits only the surroundings of the node.
    Push {
        /// A node is left alone once its residual is below `epsilon` times its
        /// degree: PageRank over degree is then right within `epsilon`.
        epsilon: f64,
        /// Replace the scores of the best candidates by the mean of their
        /// neighbours' (see `rank`): the ranking of an `epsilon` four times
        /// smaller for about a tenth of the time at 1e-4. Undirected graphs only.
        lookahead: bool,
    },
    /// This many power steps over the whole graph, as the released program does.
    Power {
        /// Nodes further away are not seen, so a context may stay short.
        steps: u32,
    },
    /// Power steps until nothing changes any more: for tests and small graphs.
    Exact,
}

/// What the nodes are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// Row i of S; in an undirected graph PageRank over degree.
    Row,
    /// PageRank itself, which prefers hubs.
    #[serde(rename = "pagerank")]
    PageRank,
}

/// What a context is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// Nodes in a context, the centre included.
    pub size: usize,
    /// Probability of a walk to end at each step.
    pub restart: f64,
    /// How scores are computed.
    pub method: Method,
    /// What the nodes are ranked by.
    pub ranking: Ranking,
    /// Lower `epsilon`, node by node, until the set is proven (push only).
    pub certify: bool,
    /// Arcs that one node's push may look at, beyond its own and those that fill a
    /// short context; it stops there and says so.
    pub budget: u64,
}

impl Default for ContextSettings {
    fn default() -> ContextSettings {
        ContextSettings {
            size: 20,
            restart: 0.15,
            method: Method::Push { epsilon: DEFAULT_EPSILON, lookahead: true },
            ranking: Ranking::Row,
            certify: false,
            budget: 1_000_000,
        }
    }
}

impl ContextSettings {
    /// Refuses what cannot be sampled. Every sampler calls it.
    pub fn validate(&self) -> Result<()> {
        if self.size == 0 || self.size > MAX_SIZE {
            return Err(Error::setting(
                "size",
                self.size,
                format!(
                    "choose 1 to {MAX_SIZE} nodes a context (over {MAX_BIT_SIZE} come without \
                     adjacency)"
                ),
            ));
        }
        if !(self.restart > 0.0 && self.restart < 1.0) {
            return Err(Error::setting(
                "restart",
                self.restart,
                "choose a probability between 0 and 1, both excluded; the paper has 0.15",
            ));
        }
        match self.method {
            Method::Push { epsilon, .. } if !(epsilon > 0.0 && epsilon < 1.0) => {
                return Err(Error::setting(
                    "epsilon",
                    epsilon,
                    "choose a value between 0 and 1, both excluded: 1e-3 is fast, 1e-5 thorough",
                ));
            }
            Method::Power { steps: 0 } => {
                return Err(Error::setting(
                    "steps",
                    0,
                    "choose at least 1; the released program takes 10",
                ));
            }
            Method::Exact if self.restart < 1e-4 => {
                return Err(Error::setting(
                    "restart",
                    self.restart,
                    "method exact takes about 39 / restart steps; choose at least 1e-4, or method \
                     push",
                ));
            }
            Method::Power { .. } | Method::Exact if self.certify => {
                return Err(Error::setting(
                    "certify",
                    true,
                    "only push keeps a bound to certify with; choose method push, or leave certify \
                     out",
                ));
            }
            _ => {}
        }
        if self.budget == 0 {
            return Err(Error::setting(
                "budget",
                0,
                "allow at least 1 arc a node; the default is 1000000",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_and_the_edges_are_accepted() {
        let ok = |settings: ContextSettings| assert!(settings.validate().is_ok(), "{settings:?}");
        ok(ContextSettings::default());
        ok(ContextSettings { size: 1, ..Default::default() });
        ok(ContextSettings { size: MAX_SIZE, ..Default::default() });
        ok(ContextSettings { method: Method::Power { steps: 1 }, ..Default::default() });
    }

    #[test]
    fn what_cannot_be_sampled_is_refused_with_a_remedy() {
        let push = |epsilon| Method::Push { epsilon, lookahead: true };
        let base = ContextSettings::default();
        let bad = [
            (ContextSettings { size: 0, ..base.clone() }, "size = 0: choose 1 to 1024"),
            (ContextSettings { size: 1025, ..base.clone() }, "size = 1025: choose"),
            (ContextSettings { restart: 0.0, ..base.clone() }, "restart = 0: choose"),
            (ContextSettings { restart: 1.0, ..base.clone() }, "restart = 1: choose"),
            (ContextSettings { restart: f64::NAN, ..base.clone() }, "restart = NaN: choose"),
            (ContextSettings { method: push(0.0), ..base.clone() }, "epsilon = 0: choose"),
            (ContextSettings { method: push(-1e-3), ..base.clone() }, "epsilon = -0.001: choose"),
            (ContextSettings { method: push(f64::NAN), ..base.clone() }, "epsilon = NaN: choose"),
            (
                ContextSettings { method: Method::Power { steps: 0 }, ..base.clone() },
                "steps = 0: choose",
            ),
            (
                ContextSettings { method: Method::Exact, certify: true, ..base.clone() },
                "certify = true: only push",
            ),
            (
                ContextSettings { method: Method::Exact, restart: 1e-9, ..base.clone() },
                "restart = 0.000000001: method exact",
            ),
            (ContextSettings { budget: 0, ..base }, "budget = 0: allow"),
        ];
        for (settings, start) in bad {
            let text = settings.validate().unwrap_err().to_string();
            assert!(text.starts_with(start), "{text}");
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        let read = serde_json::from_str::<ContextSettings>;
        assert_eq!(read("{}").unwrap(), ContextSettings::default());
        assert_eq!(read(r#"{"ranking": "pagerank"}"#).unwrap().ranking, Ranking::PageRank);
        assert!(read(r#"{"alpha": 0.85}"#).is_err());
        assert!(
            read(r#"{"method": {"push": {"epsilon": 1e-3, "lookahead": true, "x": 1}}}"#).is_err()
        );
    }
}
