//! Settings with a name.

use serde::{Deserialize, Serialize};

use super::{
    AugmentationSettings, BlockSettings, CompanySettings, Decay, Directions, EncoderKind,
    EncoderSettings, FeatureSettings, Negatives, ObjectiveKind, ObjectiveSettings,
    OptimizerSettings, ProjectionSettings, ReadoutSettings, RowScale, Settings, Similarity, Source,
    Standardize, TrainingSettings,
};
use crate::context::{ContextSettings, Method};
use crate::graph::Smoothing;

/// Settings with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The paper as printed (with the inverse, the hinge and X W_skip).
    Paper,
    /// The authors' released program.
    Reference,
    /// Ours: one label-free setting for all graphs.
    Default,
}

impl Preset {
    /// What it stands for.
    pub fn settings(self) -> Settings {
        let plain = Settings {
            seed: 0,
            contexts: ContextSettings::default(),
            features: FeatureSettings::default(),
            encoder: EncoderSettings::default(),
            readout: ReadoutSettings::default(),
            objective: ObjectiveSettings::default(),
            augmentation: AugmentationSettings::default(),
            optimizer: OptimizerSettings::default(),
            training: TrainingSettings::default(),
            output: vec![BlockSettings::default()],
            company: None,
        };
        match self {
            Preset::Paper => Settings {
                contexts: ContextSettings { certify: true, ..plain.contexts },
                features: FeatureSettings { rows: RowScale::Sum, ..plain.features },
                encoder: EncoderSettings { kind: EncoderKind::GcnSkip, ..plain.encoder },
                readout: ReadoutSettings { sigmoid: true, ..plain.readout },
                objective: ObjectiveSettings {
                    kind: ObjectiveKind::Margin { margin: 0.75 },
                    directions: Directions::Centers,
                    ..plain.objective
                },
                ..plain
            },
            Preset::Reference => Settings {
                contexts: ContextSettings { method: Method::Power { steps: 10 }, ..plain.contexts },
                objective: ObjectiveSettings {
                    directions: Directions::Reference,
                    ..plain.objective
                },
                ..plain
            },
            Preset::Default => {
                let pagerank = Smoothing::PageRank { steps: 15, restart: 0.15 };
                let block = |source, weight| BlockSettings {
                    source,
                    unit_rows: source == Source::Encoder,
                    few_columns: 32,
                    smoothing: Some(pagerank),
                    center: true,
                    norm: Some(1.0),
                    weight,
                    ..BlockSettings::default()
                };
                // Two steps and no less: what is two steps away is not outshone by the node itself.
                let near = BlockSettings {
                    smoothing: Some(Smoothing::steps(2)),
                    noisy_steps: 1,
                    ..block(Source::Features, 0.7)
                };
                // Smoothing makes rows short.
                let lengths = BlockSettings {
                    smoothing: Some(Smoothing::PageRank { steps: 30, restart: 0.05 }),
                    center: false,
                    norm: None,
                    few_columns: 0,
                    ..block(Source::Projected, 6.0)
                };
                let own = BlockSettings {
                    smoothing: None,
                    unlike: true,
                    few_columns: 0,
                    ..block(Source::Own, 1.0)
                };
                // Where features say little by themselves, much of them together.
                let random = BlockSettings {
                    smoothing: Some(Smoothing::Walk { steps: 1 }),
                    noisy_only: true,
                    ..block(Source::Random, 0.7)
                };
                Settings {
                    features: FeatureSettings {
                        standardize: Standardize::Auto,
                        rows: RowScale::Norm(1.0),
                        projection: Some(ProjectionSettings {
                            width: 160,
                            norm: Some(1.0),
                            ..ProjectionSettings::default()
                        }),
                        ..plain.features
                    },
                    encoder: EncoderSettings {
                        kind: EncoderKind::Mlp,
                        layers: 1,
                        width: 256,
                        linear: true,
                        ..plain.encoder
                    },
                    objective: ObjectiveSettings {
                        kind: ObjectiveKind::InfoNce,
                        similarity: Similarity::Cosine { temperature: 0.5 },
                        negatives: Negatives::AllPairs,
                        directions: Directions::Both,
                    },
                    augmentation: AugmentationSettings {
                        mask_features: 0.3,
                        separate_masks: true,
                        drop_edges: 0.0,
                    },
                    optimizer: OptimizerSettings {
                        rate: 5e-3,
                        decay: Decay::Cosine,
                        ..plain.optimizer
                    },
                    training: TrainingSettings { steps: 60, batch: 200, ..plain.training },
                    output: vec![block(Source::Encoder, 1.0), near, lengths, own, random],
                    company: Some(CompanySettings::default()),
                    ..plain
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two numbers a node neither 256 learnt functions nor rows of norm 1 keep what they say: blocks
    /// of plain features and of features with their lengths do, and have their whole weight.
    #[test]
    fn blocks_of_the_default_that_say_little_of_few_columns_weigh_less_there() {
        for block in Preset::Default.settings().output {
            let keeps = matches!(block.source, Source::Own | Source::Projected);
            assert_eq!(block.few_columns > 0, !keeps, "{:?}", block.source);
        }
    }
}
