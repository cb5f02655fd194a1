//! What did the paper print? Columns are Cora, Citeseer, Pubmed and PPI.
//!
//! Its PPI has 56,944 nodes; where only the small one of 14,755 is at hand, numbers on it
//! are no numbers on the paper's.

/// Rows of a table: a name and its numbers.
pub(super) type Rows = &'static [(&'static str, [f64; 4])];

/// Table II, in percent.
pub(super) const CLASSIFICATION: Rows = &[
    ("Raw features", [56.6, 57.8, 69.1, 42.5]),
    ("DeepWalk", [67.2, 43.2, 65.3, 52.9]),
    ("Unsup-GraphSAGE", [75.2, 59.4, 70.1, 46.5]),
    ("DGI", [82.3, 71.8, 76.8, 63.8]),
    ("GMI", [83.0, 73.0, 79.9, 65.0]),
    ("GCN, with labels", [81.4, 70.3, 76.8, 51.5]),
    ("GAT, with labels", [83.0, 72.5, 79.0, 97.3]),
    ("FastGCN, with labels", [78.0, 63.5, 74.4, 63.7]),
    ("GraphSAGE, with labels", [79.2, 71.2, 73.1, 51.3]),
    ("Subg-Con", [83.5, 73.2, 81.0, 66.9]),
];

/// Table IV, in percent.
pub(super) const ENCODERS: Rows = &[
    ("GCN", [82.1, 72.4, 79.2, 66.2]),
    ("GCN + Skip", [83.5, 73.2, 81.1, 66.9]),
    ("GAT", [83.5, 73.0, 80.0, 66.8]),
    ("GIN", [83.0, 73.0, 80.4, 66.0]),
];

/// Table V, in percent.
pub(super) const OBJECTIVES: Rows = &[
    ("margin", [83.5, 73.2, 81.0, 66.9]),
    ("logistic", [82.4, 72.2, 79.8, 66.8]),
    ("BPR", [81.7, 72.0, 79.9, 66.8]),
];

/// Tables VI and VII: seconds of training.
pub(super) const SECONDS: Rows = &[
    ("DGI", [27.0, 48.0, 104.0, 44.0]),
    ("GMI", [104.0, 410.0, 1012.0, 561.0]),
    ("Subg-Con", [14.0, 12.0, 26.0, 3.0]),
];

/// Tables VI and VII: megabytes.
pub(super) const MEGABYTES: Rows = &[
    ("DGI", [3597.0, 4867.0, 10911.0, 10171.0]),
    ("GMI", [3927.0, 7605.0, 12115.0, 12101.0]),
    ("Subg-Con", [1586.0, 1163.0, 975.0, 1349.0]),
];

/// A number of a table.
pub(super) fn number(rows: Rows, name: &str, column: usize) -> Option<f64> {
    rows.iter().find(|(row, _)| *row == name).map(|(_, numbers)| numbers[column])
}
