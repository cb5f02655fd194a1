//! Table V: which objective is best?

use subgcon::config::ObjectiveKind;

use super::page::Page;
use super::variants::compared;
use super::{Lab, paper};

pub(super) fn page(lab: &Lab<'_>) -> anyhow::Result<Page> {
    let base = lab.base()?;
    let margin = match base.objective.kind {
        ObjectiveKind::Margin { margin } => margin,
        _ => 0.5,
    };
    let kinds = [
        ("margin", ObjectiveKind::Margin { margin }),
        ("logistic", ObjectiveKind::Logistic),
        ("BPR", ObjectiveKind::Bpr),
    ];
    let variants = kinds.map(|(name, kind)| {
        let mut settings = base.clone();
        settings.objective.kind = kind;
        (name, settings)
    });
    compared(
        lab,
        "Table V: objectives",
        &variants,
        paper::OBJECTIVES,
        "The paper finds margin best on every graph.",
    )
}
