//! What cannot be trained is refused.

use std::path::Path;

use serde_json::Value;

use super::{
    CompanySettings, EncoderKind, Negatives, ObjectiveKind, Pick, RowScale, Settings, Similarity,
    Source, Stopping,
};
use crate::context::MAX_BIT_SIZE;
use crate::error::{Error, Result};

/// Larger numbers of columns, or contexts in a step, are slips of the hand.
const MOST: usize = 1 << 16;

/// The largest company of a node.
const MOST_COMPANY: usize = 256;

impl Settings {
    /// TOML and JSON of other programs hold signed integers.
    pub(super) fn check_whole(&self) -> Result<()> {
        let all = serde_json::to_value(self).expect("plain data becomes JSON");
        match too_large("", &all) {
            None => Ok(()),
            Some((name, value)) => {
                let problem = format!("is {value}");
                Err(Error::input(Path::new(&name), problem, "choose a number below 2^63"))
            }
        }
    }

    /// Refuses what cannot be trained.
    pub fn validate(&self) -> Result<()> {
        self.contexts.validate()?;
        for (name, value) in [
            ("encoder.width", self.encoder.width),
            ("encoder.layers", self.encoder.layers),
            ("training.batch", self.training.batch),
            ("training.held_out", self.training.held_out),
        ] {
            if value > MOST {
                return Err(Error::setting(name, value, format!("choose at most {MOST}")));
            }
        }
        let bad = |name, value: String, remedy: &str| Err(Error::setting(name, value, remedy));
        let encoder = &self.encoder;
        if self.contexts.size > MAX_BIT_SIZE && encoder.kind != EncoderKind::Mlp {
            return bad(
                "contexts.size",
                self.contexts.size.to_string(),
                "contexts of over 64 nodes come without adjacency; choose a smaller size, or \
                 encoder mlp",
            );
        }
        if encoder.width == 0 {
            return bad(
                "encoder.width",
                "0".into(),
                "choose at least 1 column; the paper has 1024",
            );
        }
        if encoder.layers == 0 {
            return bad("encoder.layers", "0".into(), "choose at least 1 layer");
        }
        if encoder.heads == 0 || !encoder.width.is_multiple_of(encoder.heads) {
            return bad(
                "encoder.heads",
                encoder.heads.to_string(),
                "choose a number of heads that divides the width",
            );
        }
        let scale = |x: f64| x.is_finite() && x > 0.0;
        if let RowScale::Norm(norm) = self.features.rows
            && !scale(norm)
        {
            return bad("features.rows", norm.to_string(), "choose a positive norm, such as 1");
        }
        if let Some(projection) = &self.features.projection {
            if projection.width == 0 {
                return bad("features.projection.width", "0".into(), "choose at least 1 vector");
            }
            if projection.rounds == 0 {
                return bad("features.projection.rounds", "0".into(), "choose at least 1 round");
            }
            if let Some(norm) = projection.norm
                && !scale(norm)
            {
                return bad("features.projection.norm", norm.to_string(), "choose a positive norm");
            }
            projection.smoothing.validate()?;
        }
        if let ObjectiveKind::Margin { margin } = self.objective.kind
            && !(margin > 0.0 && margin <= 1.0)
        {
            return bad(
                "objective.margin",
                margin.to_string(),
                "sigmoids differ by less than 1: choose a margin over 0 and up to 1; the paper \
                 has 0.75",
            );
        }
        if let Similarity::Cosine { temperature } = self.objective.similarity
            && !scale(temperature)
        {
            return bad(
                "objective.temperature",
                temperature.to_string(),
                "choose a positive temperature, such as 0.5",
            );
        }
        if self.objective.negatives == Negatives::Shuffles(0) {
            return bad("objective.negatives", "0".into(), "choose at least 1 negative");
        }
        if let Negatives::Shuffles(shuffles) = self.objective.negatives
            && shuffles >= self.training.batch
        {
            return bad(
                "objective.negatives",
                shuffles.to_string(),
                "a batch has fewer other summaries; choose fewer negatives, or a larger batch",
            );
        }
        for (name, probability) in [
            ("augmentation.mask_features", self.augmentation.mask_features),
            ("augmentation.drop_edges", self.augmentation.drop_edges),
        ] {
            if !(0.0..1.0).contains(&probability) {
                return bad(
                    name,
                    probability.to_string(),
                    "choose a probability from 0 to below 1",
                );
            }
        }
        let optimizer = &self.optimizer;
        if !scale(optimizer.rate) {
            return bad("optimizer.rate", optimizer.rate.to_string(), "choose a positive rate");
        }
        if !(optimizer.weight_decay.is_finite() && optimizer.weight_decay >= 0.0) {
            return bad(
                "optimizer.weight_decay",
                optimizer.weight_decay.to_string(),
                "choose 0 or a small positive number",
            );
        }
        for (name, beta) in
            [("optimizer.beta1", optimizer.beta1), ("optimizer.beta2", optimizer.beta2)]
        {
            if !(0.0..1.0).contains(&beta) {
                return bad(name, beta.to_string(), "choose a number from 0 to below 1");
            }
        }
        if !scale(optimizer.epsilon) {
            return bad(
                "optimizer.epsilon",
                optimizer.epsilon.to_string(),
                "choose a positive number",
            );
        }
        let training = &self.training;
        if training.batch < 2 {
            return bad(
                "training.batch",
                training.batch.to_string(),
                "the other contexts of a batch are the negatives; choose at least 2",
            );
        }
        if let Some(subgraphs) = training.subgraphs
            && subgraphs < 2
        {
            return bad(
                "training.subgraphs",
                subgraphs.to_string(),
                "one context has no other to be told from; choose at least 2",
            );
        }
        if training.look_every == 0 {
            return bad("training.look_every", "0".into(), "choose at least 1 step");
        }
        if !(0.0..1.0).contains(&training.averaging) {
            return bad(
                "training.averaging",
                training.averaging.to_string(),
                "choose a decay from 0 (none) to below 1, such as 0.95",
            );
        }
        if training.held_out == 1 {
            return bad(
                "training.held_out",
                "1".into(),
                "one context has no other to be told from; hold out none, or at least 2",
            );
        }
        if training.stopping != Stopping::Never && training.held_out < 2 {
            return bad(
                "training.held_out",
                training.held_out.to_string(),
                "this stopping rule looks at held-out contexts; hold out at least 2, such as 500",
            );
        }
        if let Stopping::HeldOutHinge { share } = training.stopping
            && !(share > 0.0 && share <= 1.0)
        {
            return bad(
                "training.stopping",
                share.to_string(),
                "choose a share of the fall over 0 and up to 1; 0.8 is a good one",
            );
        }
        if let Some(CompanySettings { nearest, share }) = self.company {
            if nearest == 0 || nearest > MOST_COMPANY {
                return bad(
                    "company.nearest",
                    nearest.to_string(),
                    &format!("choose 1 to {MOST_COMPANY} nodes; 10 is a good number"),
                );
            }
            if !(share > 0.0 && share < 1.0) {
                return bad(
                    "company.share",
                    share.to_string(),
                    "choose a share between 0 and 1, both excluded, or company = \"none\"",
                );
            }
        }
        if self.output.is_empty() {
            return bad("output", "[]".into(), "an embedding needs at least one block");
        }
        if self.output.iter().all(|block| block.unlike || block.noisy_only) {
            let unlike = self.output.iter().any(|block| block.unlike);
            return bad(
                if unlike { "output.unlike" } else { "output.noisy_only" },
                "true".into(),
                "such a block has no columns in many graphs; give the output another one",
            );
        }
        for block in &self.output {
            if let Some(smoothing) = &block.smoothing {
                smoothing.validate()?;
            }
            if let Some(norm) = block.norm
                && !scale(norm)
            {
                return bad("output.norm", norm.to_string(), "choose a positive norm");
            }
            if !scale(block.weight) || !(block.weight as f32).is_normal() {
                return bad("output.weight", block.weight.to_string(), "choose a positive weight");
            }
            let plain = block.source != Source::Encoder && block.smoothing.is_none();
            if block.unlike && !plain {
                return bad(
                    "output.unlike",
                    "true".into(),
                    "it is for a block of features that are not smoothed; leave it out, or smoothing",
                );
            }
            if block.noisy_steps > 0 && block.smoothing.is_none() {
                return bad(
                    "output.noisy_steps",
                    block.noisy_steps.to_string(),
                    "it is for a block that is smoothed; give it a smoothing, or leave it out",
                );
            }
            let counts = matches!(block.source, Source::Own | Source::Random);
            if counts && !(1..=MOST).contains(&block.columns) {
                return bad(
                    "output.columns",
                    block.columns.to_string(),
                    "choose between 1 and 65536",
                );
            }
            let plain = matches!(block.source, Source::Projected | Source::Own | Source::Random);
            if plain && block.pick == Pick::Context {
                return bad(
                    "output.pick",
                    "context".into(),
                    "a block of such features is of centres; choose center, or source features",
                );
            }
        }
        self.check_whole()
    }
}

/// The first number, with its name, that is no signed integer.
fn too_large(name: &str, value: &Value) -> Option<(String, u64)> {
    let below =
        |inner: &str| if name.is_empty() { inner.into() } else { format!("{name}.{inner}") };
    match value {
        Value::Number(number) => {
            let number = number.as_u64().filter(|&number| i64::try_from(number).is_err());
            number.map(|number| (name.into(), number))
        }
        Value::Object(fields) => {
            fields.iter().find_map(|(inner, value)| too_large(&below(inner), value))
        }
        Value::Array(values) => values.iter().find_map(|value| too_large(name, value)),
        _ => None,
    }
}
