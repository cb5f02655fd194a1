//! How wide is each block of an embedding of so many columns?
//!
//! Blocks that have columns at all share them evenly and the encoder takes what is left over; where there are
//! fewer columns than blocks, the first blocks get one each. Blocks of features
//! are as wide as the projection finds directions; where that is less than their share,
//! the encoder's blocks get the difference. Features in their own directions and
//! random questions have their share, the former no more than there are features or nodes.

use subgcon::config::{BlockSettings, Settings, Source};
use subgcon::model::Likeness;
use subgcon::{Error, Result};

/// Blocks that have columns: of the encoder, as wide as the projection is, and as wide as they
/// say themselves.
fn blocks(settings: &Settings, likeness: Option<Likeness>) -> [usize; 3] {
    let mut counts = [0; 3];
    let projected = settings.features.projection.is_some();
    for block in settings.output.iter().filter(|block| !is_nothing(block, likeness)) {
        let kind = match block.source {
            Source::Encoder => 0,
            Source::Features | Source::Projected => 1,
            Source::Own => 1 + usize::from(projected),
            Source::Random => 2,
        };
        counts[kind] += 1;
    }
    counts
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
    let [encoders, features, others] = blocks(settings, likeness);
    let count = encoders + features + others;
    let mut each = total / count.max(1);
    match &mut settings.features.projection {
        _ if features == 0 => {}
        Some(projection) => projection.width = each.min(columns),
        None => {
            let least = features * columns + encoders + others;
            if least > total && encoders > 0 {
                return refuse(
                    total,
                    format!(
                        "the output holds all {columns} feature columns; choose at least {least}, \
                         or set features.projection"
                    ),
                );
            }
            each = total.saturating_sub(features * columns) / (encoders + others).max(1);
        }
    }
    let others = [Source::Own, Source::Random];
    let others = settings.output.iter_mut().filter(|block| others.contains(&block.source));
    others.for_each(|block| block.columns = each.max(1));
    Ok(())
}

/// Gives the encoder what blocks of features leave, which are `found` columns wide; of their own
/// directions there are no more than `most_own`.
pub(crate) fn rest(
    settings: &mut Settings,
    likeness: Option<Likeness>,
    total: usize,
    found: usize,
    most_own: usize,
) -> Result<()> {
    let [encoders, features, _] = blocks(settings, likeness);
    let projected = settings.features.projection.is_some();
    let there = settings.output.iter().filter(|block| !is_nothing(block, likeness));
    let others: usize = there
        .map(|block| match block.source {
            Source::Own if projected => block.columns.min(most_own),
            Source::Random => block.columns,
            _ => 0,
        })
        .sum();
    let fixed = features * found + others;
    let left = total.saturating_sub(fixed);
    if encoders == 0 {
        return match fixed == total {
            true => Ok(()),
            false => {
                refuse(total, format!("the output is features alone, {fixed} columns; choose that"))
            }
        };
    }
    if !left.is_multiple_of(encoders) {
        return refuse(
            total,
            format!("{encoders} blocks of the encoder share {left} columns; choose {}", {
                fixed + left / encoders * encoders
            }),
        );
    }
    settings.encoder.width = left / encoders;
    Ok(())
}
