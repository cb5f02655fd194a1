//! Table IV: which encoder is best?

use subgcon::config::{EncoderKind, Settings};

use super::page::Page;
use super::variants::compared;
use super::{Lab, paper};

/// The encoders of the paper.
const KINDS: [(&str, EncoderKind); 4] = [
    ("GCN", EncoderKind::Gcn),
    ("GCN + Skip", EncoderKind::GcnSkip),
    ("GAT", EncoderKind::Gat),
    ("GIN", EncoderKind::Gin),
];

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let base = lab.base()?;
    let variants = KINDS.map(|(name, kind)| {
        let mut settings: Settings = base.clone();
        settings.encoder.kind = kind;
        (name, settings)
    });
    compared(
        lab,
        "Table IV: encoders",
        &variants,
        paper::ENCODERS,
        "The paper finds GCN + Skip best on Citeseer and Pubmed, level with GAT on Cora.",
    )
}
