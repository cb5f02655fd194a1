//! Everything that may be chosen, in one struct.
//!
//! TOML files, flags and Python's keywords all fill [`Settings`]; unknown names
//! are refused, [`Settings::validate`] is called before training, and the
//! struct is stored in every model. A preset is a function that fills it.

mod merge;
mod preset;
mod standardize;
mod validate;

use serde::{Deserialize, Serialize};

use crate::context::ContextSettings;
use crate::graph::Smoothing;

pub use preset::Preset;
pub use standardize::Standardize;

/// What a model is and how it comes about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Every random number follows from it.
    pub seed: u64,
    /// Which nodes matter to a node.
    pub contexts: ContextSettings,
    /// What is done to features before the encoder sees them.
    pub features: FeatureSettings,
    /// From features to rows.
    pub encoder: EncoderSettings,
    /// From rows to a summary.
    pub readout: ReadoutSettings,
    /// Centres against summaries.
    pub objective: ObjectiveSettings,
    /// What is hidden from the encoder while it learns.
    pub augmentation: AugmentationSettings,
    /// How parameters move.
    pub optimizer: OptimizerSettings,
    /// How long, on what, and when to stop.
    pub training: TrainingSettings,
    /// What an embedding is made of: blocks side by side.
    pub output: Vec<BlockSettings>,
    /// What a node's row takes from rows that are like it, last of all.
    #[serde(default)]
    pub company: Option<CompanySettings>,
}

/// How the rows of the feature matrix are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// As they are.
    None,
    /// Absolute values of a row sum to 1.
    Sum,
    /// The L2 norm of a row is this.
    Norm(f64),
}

/// What is done to features before the encoder sees them: columns first, then
/// rows, then the projection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureSettings {
    /// Make features from the graph's structure (degree and position) for a graph that
    /// has none of its own.
    pub structural: bool,
    /// Which columns are brought to a common scale.
    pub standardize: Standardize,
    /// Scale of the rows.
    pub rows: RowScale,
    /// Project onto leading singular vectors.
    pub projection: Option<ProjectionSettings>,
}

/// Projection onto the leading right singular vectors of the smoothed features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectionSettings {
    /// Number of vectors; fewer where the features have fewer columns.
    pub width: usize,
    /// Rounds of block power iteration.
    pub rounds: usize,
    /// How features are smoothed before the vectors are sought.
    pub smoothing: Smoothing,
    /// Subtract the mean projected row.
    pub center: bool,
    /// Scale projected rows to this L2 norm.
    pub norm: Option<f64>,
}

/// The encoder's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderKind {
    /// Graph convolution.
    Gcn,
    /// Graph convolution beside a plain product.
    GcnSkip,
    /// Graph attention.
    Gat,
    /// Graph isomorphism network.
    Gin,
    /// Each node by itself.
    Mlp,
}

/// From features to rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderSettings {
    /// Its kind.
    pub kind: EncoderKind,
    /// Number of layers.
    pub layers: usize,
    /// Columns of every layer's output.
    pub width: usize,
    /// Attention heads, side by side (GAT only).
    pub heads: usize,
    /// Whether a product without bias and activation, of the same width, follows the layers.
    pub linear: bool,
}

/// How the rows of a context become its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadoutKind {
    /// Mean of the rows.
    Mean,
    /// Their sum.
    Sum,
    /// The largest of each column.
    Max,
    /// Mean weighted by PageRank.
    Mass,
}

/// From rows to a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadoutSettings {
    /// Its kind.
    pub kind: ReadoutKind,
    /// Apply a sigmoid afterwards.
    pub sigmoid: bool,
    /// Whether the centre belongs to its own summary. A context of one node keeps
    /// it in any case.
    pub center: bool,
}

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ObjectiveKind {
    /// max(0, σ(negative) − σ(positive) + margin).
    Margin {
        /// By how much the positive must win.
        margin: f64,
    },
    /// −ln σ(positive) − ln σ(−negative).
    Logistic,
    /// −ln σ(positive − negative).
    Bpr,
    /// −ln of the positive's share of the softmax over it and the negatives.
    InfoNce,
}

/// What a centre is compared with beside its own summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Negatives {
    /// Other summaries by this many shuffles without fixed points.
    Shuffles(usize),
    /// All other summaries of the batch.
    AllPairs,
}

/// What is held fixed while the other side is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// A centre against summaries: h_i·s_i beside h_i·s_j.
    Centers,
    /// And a summary against centres: h_i·s_i beside h_j·s_i. Both terms are added.
    Both,
    /// As the released program pairs them: h_i·s_i beside h_j·s_i, and h_j·s_j
    /// beside h_i·s_j, with j the i-th of the shuffle.
    Reference,
}

/// How a centre is compared with a summary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Similarity {
    /// h·s.
    Dot,
    /// h·s / (|h| |s| temperature).
    Cosine {
        /// Smaller is sharper.
        temperature: f64,
    },
}

/// Centres against summaries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectiveSettings {
    /// What is made small.
    pub kind: ObjectiveKind,
    /// What a pair scores.
    pub similarity: Similarity,
    /// Against what.
    pub negatives: Negatives,
    /// In which directions.
    pub directions: Directions,
}

/// What is hidden from the encoder while it learns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugmentationSettings {
    /// Probability of each non-zero feature of a node to be taken for zero.
    pub mask_features: f64,
    /// Draw the masks of centres and of summaries separately.
    pub separate_masks: bool,
    /// Probability of each edge inside a context to be left out.
    pub drop_edges: f64,
}

/// How the learning rate falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// It does not.
    None,
    /// Half a cosine, to zero after the last step.
    Cosine,
    /// A straight line, to zero after the last step.
    Linear,
}

/// How parameters move: Adam.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSettings {
    /// Learning rate.
    pub rate: f64,
    /// Added to gradients, times the parameter.
    pub weight_decay: f64,
    /// Of the first moment.
    pub beta1: f64,
    /// Of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Steps over which the rate rises from zero.
    pub warmup: u64,
    /// How it falls afterwards.
    pub decay: Decay,
}

/// When to stop, without labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Stopping {
    /// After the last step.
    Never,
    /// Take the first step at which the hinge of held-out contexts has made this
    /// share of its whole fall.
    HeldOutHinge {
        /// Between 0 and 1.
        share: f64,
    },
    /// Take the step with the smallest effective rank of held-out centres.
    EffectiveRank,
}

/// How long, on what, and when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSettings {
    /// Steps at most.
    pub steps: u64,
    /// Contexts in a step.
    pub batch: usize,
    /// Train on this many random contexts only.
    pub subgraphs: Option<usize>,
    /// Contexts held out of training, for signals.
    pub held_out: usize,
    /// Steps between two looks at them.
    pub look_every: u64,
    /// When to stop.
    pub stopping: Stopping,
    /// Decay of the running mean of parameters that is kept instead of the last
    /// ones; 0 keeps the last ones.
    pub averaging: f64,
}

/// Where the rows of an output block come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Learnt.
    Encoder,
    /// Features as the encoder gets them: learnt nothing, cost nothing.
    Features,
    /// The same before the projection subtracts their mean and scales them: how long a
    /// projected row is tells how much of a node lies in the leading directions.
    Projected,
    /// Leading directions of the features themselves, which were not smoothed when these were
    /// sought.
    Own,
    /// Answers of the features, as they are before a projection, to random questions: sums with
    /// random signs, cut off at zero.
    Random,
}

/// Which rows of a context an embedding is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// The centre's.
    Center,
    /// All of them, weighted by PageRank.
    Context,
}

/// Columns of a block that says for itself how many it has, unless told.
const COLUMNS: usize = 448;

/// One block of an embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlockSettings {
    /// Learnt rows, or features.
    pub source: Source,
    /// The centre's row, or a sum over the context.
    pub pick: Pick,
    /// Columns, with the sources `own` (no more than there are features or nodes) and `random`;
    /// all blocks of the former are as wide as the widest.
    pub columns: usize,
    /// Scale rows to norm 1 before they are smoothed. A contrast of cosines learns
    /// directions; without this long rows would speak for their neighbours.
    pub unit_rows: bool,
    /// Smoothing over the whole graph afterwards.
    pub smoothing: Option<Smoothing>,
    /// Subtract the mean row of the training graph.
    pub center: bool,
    /// Scale rows to this L2 norm.
    pub norm: Option<f64>,
    /// Multiply rows by this, last of all.
    pub weight: f64,
    /// And by between 0 and 8, the more the better features choose like nodes in the training
    /// graph than edges do ([`crate::model::Likeness::plain_weight`]); it has no columns where
    /// that is next to nothing. For features that are not smoothed.
    pub unlike: bool,
    /// So many steps of smoothing more where the features of the training graph are mostly
    /// noise ([`crate::model::Likeness::is_noise`]).
    pub noisy_steps: u32,
    /// It has columns only where the features of the training graph are mostly noise.
    pub noisy_only: bool,
    /// It weighs √(c / this) of its weight where features have c columns and that are fewer than
    /// this; 0: its weight whatever they have. Hundreds of functions of a few numbers say little that
    /// these do not, and of a few numbers a direction leaves out most.
    pub few_columns: usize,
}

impl BlockSettings {
    /// Whether what it comes to depends on how alike the nodes of the training graph are.
    pub fn needs_likeness(&self) -> bool {
        self.unlike || self.noisy_only || self.noisy_steps > 0
    }
}

/// How much of the rows that are most like a node's own becomes part of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompanySettings {
    /// Nodes in a node's company.
    pub nearest: usize,
    /// Their share of a row.
    pub share: f64,
}

impl Default for CompanySettings {
    fn default() -> CompanySettings {
        CompanySettings { nearest: 10, share: 0.2 }
    }
}

impl Default for FeatureSettings {
    fn default() -> FeatureSettings {
        FeatureSettings {
            structural: false,
            standardize: Standardize::No,
            rows: RowScale::None,
            projection: None,
        }
    }
}

impl Default for ProjectionSettings {
    fn default() -> ProjectionSettings {
        ProjectionSettings {
            width: 256,
            rounds: 3,
            smoothing: Smoothing::PageRank { steps: 15, restart: 0.15 },
            center: true,
            norm: None,
        }
    }
}

impl Default for EncoderSettings {
    fn default() -> EncoderSettings {
        EncoderSettings { kind: EncoderKind::Gcn, layers: 1, width: 1024, heads: 1, linear: false }
    }
}

impl Default for ReadoutSettings {
    fn default() -> ReadoutSettings {
        ReadoutSettings { kind: ReadoutKind::Mean, sigmoid: false, center: true }
    }
}

impl Default for ObjectiveSettings {
    fn default() -> ObjectiveSettings {
        ObjectiveSettings {
            kind: ObjectiveKind::Margin { margin: 0.5 },
            similarity: Similarity::Dot,
            negatives: Negatives::Shuffles(1),
            directions: Directions::Both,
        }
    }
}

impl Default for OptimizerSettings {
    fn default() -> OptimizerSettings {
        OptimizerSettings {
            rate: 1e-3,
            weight_decay: 0.0,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            warmup: 0,
            decay: Decay::None,
        }
    }
}

impl Default for TrainingSettings {
    fn default() -> TrainingSettings {
        TrainingSettings {
            steps: 60,
            batch: 500,
            subgraphs: None,
            held_out: 0,
            look_every: 10,
            stopping: Stopping::Never,
            averaging: 0.0,
        }
    }
}

impl Default for BlockSettings {
    fn default() -> BlockSettings {
        BlockSettings {
            source: Source::Encoder,
            pick: Pick::Center,
            columns: COLUMNS,
            unit_rows: false,
            smoothing: None,
            center: false,
            norm: None,
            weight: 1.0,
            unlike: false,
            noisy_steps: 0,
            noisy_only: false,
            few_columns: 0,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Preset::Default.settings()
    }
}
