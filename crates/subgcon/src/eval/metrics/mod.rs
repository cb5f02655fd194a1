//! How good are answers, as one number?
//!
//! | file | question |
//! | --- | --- |
//! | `classes` | how often is the class right? accuracy, F1 |
//! | `ranking` | do true things score above false ones? ROC AUC, average precision, Hits@k, MRR |
//! | `groups` | do two ways to group agree? NMI, ARI |
//!
//! Conventions are scikit-learn's, and for Hits@k and MRR those of the Open Graph
//! Benchmark; `tests/golden/eval.py` holds the former to their word.

mod classes;
mod groups;
mod ranking;

pub use classes::{F1, accuracy, f1, members_accuracy, members_f1};
pub use groups::{adjusted_rand, mutual_information};
pub use ranking::{average_precision, hits_at, mean_reciprocal_rank, roc_auc};
