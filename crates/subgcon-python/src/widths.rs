//! How wide is each block of an embedding of so many columns?
//!
//! Blocks share the columns evenly and the encoder takes what is left over; where there are
//! fewer columns than blocks, the first blocks get one each. Blocks of features
//! are as wide as the projection finds directions; where that is less than their share,
//! the encoder's blocks get the difference.

use subgcon::config::{Settings, Source};
use subgcon::{Error, Result};

/// Blocks of the encoder, and blocks of features.
fn blocks(settings: &Settings) -> (usize, usize) {
    let learnt = settings.output.iter().filter(|block| block.source == Source::Encoder).count();
    (learnt, settings.output.len() - learnt)
}

fn refuse<T>(total: usize, remedy: String) -> Result<T> {
    Err(Error::setting("n_components", total, remedy))
}

/// Asks the projection for its share, before features of `columns` columns are projected.
pub(crate) fn share(settings: &mut Settings, total: usize, columns: usize) -> Result<()> {
    settings.output.truncate(total);
    let (encoders, features) = blocks(settings);
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
pub(crate) fn rest(settings: &mut Settings, total: usize, found: usize) -> Result<()> {
    let (encoders, features) = blocks(settings);
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
