//! How wide is each block of an embedding of so many columns?
//!
//! Blocks that have columns at all share them evenly and the encoder takes what is left over; where there are
//! fewer columns than blocks, the first blocks get one each. Blocks of features
//! are as wide as the projection finds directions; where that is less than their share,
//! the encoder's blocks get the difference.

use subgcon::config::{BlockSettings, Settings, Source};
use subgcon::model::Likeness;
use subgcon::{Error, Result};

/// Blocks of the encoder, and blocks of features that have columns.
fn blocks(settings: &Settings, likeness: Option<Likeness>) -> (usize, usize) {
    let (learnt, features): (Vec<_>, Vec<_>) = settings
        .output
        .iter()
        .filter(|block| !is_nothing(block, likeness))
        .partition(|block| block.source == Source::Encoder);
    (learnt.len(), features.len())
}

fn is_nothing(block: &BlockSettings, likeness: Option<Likeness>) -> bool {
    likeness.is_some_and(|likeness| block.is_nothing(likeness))
}

fn refuse<T>(total: usize, remedy: String) -> Result<T> {
    Err(Error::setting("n_components", total, remedy))
}

/// Asks the projection for its share, before features of `columns` columns are projected.
pub(crate) fn share(
    settings: &mut Settings,
    likeness: Option<Likeness>,
    total: usize,
    columns: usize,
) -> Result<()> {
    let mut left = total;
    settings.output.retain(|block| {
        let stays = left > 0 || is_nothing(block, likeness);
        left -= usize::from(stays && !is_nothing(block, likeness));
        stays
    });
    let (encoders, features) = blocks(settings, likeness);
    let count = encoders + features;
    if features == 0 {
        return Ok(());
    }
    match &mut settings.features.projection {
        Some(projection) => projection.width = (total / count).min(columns),
        None if features * columns >= total && encoders > 0 => {
            let least = features * columns + encoders;
            return refuse(
                total,
                format!(
                    "the output holds all {columns} feature columns; choose at least {least}, or \
                     set features.projection"
                ),
            );
        }
        None => {}
    }
    Ok(())
}

/// Gives the encoder what blocks of features leave, which are `found` columns wide.
pub(crate) fn rest(
    settings: &mut Settings,
    likeness: Option<Likeness>,
    total: usize,
    found: usize,
) -> Result<()> {
    let (encoders, features) = blocks(settings, likeness);
    let left = total.saturating_sub(features * found);
    if encoders == 0 {
        return match features * found == total {
            true => Ok(()),
            false => refuse(
                total,
                format!("the output is features alone, {} columns; choose that", features * found),
            ),
        };
    }
    if !left.is_multiple_of(encoders) {
        return refuse(
            total,
            format!("{encoders} blocks of the encoder share {left} columns; choose {}", {
                features * found + left / encoders * encoders
            }),
        );
    }
    settings.encoder.width = left / encoders;
    Ok(())
}
