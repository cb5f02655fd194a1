//! Steps, and when to stop: knows step, seed and patience, and no label.
//!
//! | file | its question |
//! | --- | --- |
//! | `pool` | which contexts are trained on, which are held out |
//! | `adam` | how parameters move |
//! | `engine` | one step, by the general path or the fused one |
//! | `fused` | one-layer GCN and GCN + Skip, column by column |
//! | `stopping` | which step to keep, without labels |
//! | `trainer` | step after step |

mod adam;
mod engine;
mod fused;
mod pool;
mod stopping;
mod trainer;

pub use adam::{Adam, Moments};
pub use engine::{General, Outcome};
pub use fused::{Arrays, Fused, Sections};
pub use stopping::{History, Look, Snapshot};
pub use trainer::{Material, State, StepReport, Trained, Trainer};

#[cfg(test)]
mod tests;
