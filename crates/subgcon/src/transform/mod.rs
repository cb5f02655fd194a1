//! What is done to features before the encoder sees them?
//!
//! In this order, for the features x (width) of a node:
//!
//! 1. **columns**: x ← (x − shift) ∘ scale, where columns are standardised: where some are
//!    measures in units of their own (`units.rs`), or all. Where all are, sparse features
//!    are only divided by the deviation, so that they stay sparse (scikit-learn's
//!    `StandardScaler(with_mean=False)`), unless the transform was learnt from dense
//!    ones and subtracts a mean; a column without deviation is divided by 1;
//! 2. **rows**: x̂ ← x over the sum of its absolute values, or scaled to an L2 norm. A
//!    row of zeros stays one. With m measures the norm is √(|x|² + m) and the sum has m
//!    added, as if each measure had a 1 beside it: m is what |x|² comes to in the mean, and a node that is near
//!    the mean in all of them is not blown up to a direction that says nothing;
//! 3. **mask**: while the encoder learns, some entries of x̂ are taken for zero. The
//!    others stay as they are: the norm was that of the whole row;
//! 4. **projection**: q = x̂ V − μ with V (width, k) the leading right singular vectors of
//!    the smoothed X̂ and μ the mean row of X̂ V; then scaled to an L2 norm.
//!
//! | file | question |
//! | --- | --- |
//! | `columns.rs` | what are the mean and the spread of each column? |
//! | `units.rs` | in which unit is each column? |
//! | `rows.rs` | what are the scaled features of a node? |
//! | `mask.rs` | which features are hidden? |
//! | `projection.rs` | which directions matter? with `products.rs`, `orthonormal.rs` |
//! | `inputs.rs` | what does the encoder get for some nodes? |
//! | `halves.rs` | what do two halves of a node's features say, each without the other? |
//! | `questions.rs` | what do random questions say of a node's features? |

mod columns;
mod halves;
mod inputs;
mod mask;
mod orthonormal;
mod products;
mod projection;
mod questions;
mod rows;
#[cfg(test)]
mod tests;
mod units;

use crate::config::{FeatureSettings, ProjectionSettings, Standardize};
use crate::error::{Error, Result};
use crate::graph::{Adjacency, Features};
use crate::math::Matrix;
use crate::progress::{Progress, Silent};

pub use mask::Mask;
use projection::project;
use rows::Scaled;
pub use units::Measures;

/// A transform, learnt from one graph and applied to any with the same columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Transform {
    /// What was asked for.
    pub settings: FeatureSettings,
    /// Columns of the features it takes.
    pub width: usize,
    /// (width), where columns are standardised: what they are multiplied by, one over
    /// their standard deviation (over the size of entries where they are no measures).
    pub scale: Option<Vec<f32>>,
    /// (width), where columns are standardised and a mean is subtracted: that.
    pub shift: Option<Vec<f32>>,
    /// Where measures in units of their own were found. Nothing is subtracted from other
    /// columns then.
    pub measures: Option<Measures>,
    /// (width, projected width), orthonormal columns. Fewer than asked for where the
    /// smoothed features have a lower rank. Of those of [`Transform::own`] the last may be zero.
    pub vectors: Option<Matrix<f32>>,
    /// (projected width): singular values of the smoothed features, falling.
    pub singular_values: Option<Vec<f32>>,
    /// (projected width): the mean projected row, where it is subtracted.
    pub mean: Option<Vec<f32>>,
}

impl Transform {
    /// Learns what the settings ask for.
    pub fn fit(
        settings: &FeatureSettings,
        features: &Features,
        adjacency: &Adjacency,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Transform> {
        let width = features.width();
        if width == 0 {
            return Err(Error::setting("features", "0 columns", "give the nodes features"));
        }
        assert_eq!(features.nodes(), adjacency.nodes(), "features of every node");
        let mut transform = Transform {
            settings: settings.clone(),
            width,
            scale: None,
            shift: None,
            measures: None,
            vectors: None,
            singular_values: None,
            mean: None,
        };
        // Marks of degrees would weigh 1 beside 112 positions of deviation 1. Validation nodes of
        // Cora, Cora-ML, Amazon Computers and Facebook: 68.3, 70.0, 73.6, 53.3 as they are, 70.0,
        // 70.5, 79.0, 48.3 as a table of measures, 71.4, 71.6, 78.7, 56.1 so.
        let standardize = match settings.standardize {
            Standardize::Auto if settings.structural => Standardize::All,
            chosen => chosen,
        };
        match standardize {
            Standardize::No => {}
            Standardize::All => {
                let moments = columns::moments(features, false).columns;
                transform.scale =
                    Some(moments.iter().map(|column| over(column.deviation)).collect());
                if let Features::Dense { .. } = features {
                    transform.shift =
                        Some(moments.iter().map(|column| column.mean as f32).collect());
                }
            }
            Standardize::Auto => {
                if let Some(units) = units::units(features) {
                    transform.scale = Some(units.scale);
                    transform.shift = Some(units.shift);
                    transform.measures = Some(units.measures);
                }
            }
        }
        if let Some(projection) = &settings.projection {
            let rows = transform.scaled(features);
            let factors = rows.all_factors();
            let rows = Scaled { factors: factors.as_deref(), ..rows };
            let smoothing = Some(projection.smoothing);
            let found = project(projection, smoothing, &rows, adjacency, seed, progress)?;
            // The mean of X̂ V is the mean of X̂, times V.
            let mean = projection.center.then(|| {
                let mut mean = vec![0f64; found.vectors.width];
                for (row, x) in columns::mean_row(&rows).into_iter().enumerate() {
                    let line = mean.iter_mut().zip(found.vectors.row(row));
                    line.for_each(|(mean, &v)| *mean += x * f64::from(v));
                }
                mean.into_iter().map(|x| x as f32).collect()
            });
            transform.mean = mean;
            transform.vectors = Some(found.vectors);
            transform.singular_values = Some(found.singular_values);
        }
        Ok(transform)
    }

    /// The same, but onto so many directions of the features themselves in place of those of
    /// smoothed ones; zeros where there are fewer. Itself where nothing is projected.
    pub fn own(
        &self,
        features: &Features,
        adjacency: &Adjacency,
        width: usize,
        seed: u64,
    ) -> Result<Transform> {
        let Some(projection) = &self.settings.projection else { return Ok(self.clone()) };
        let projection = ProjectionSettings { width, ..projection.clone() };
        let rows = self.scaled(features);
        let factors = rows.all_factors();
        let rows = Scaled { factors: factors.as_deref(), ..rows };
        let found = project(&projection, None, &rows, adjacency, seed, &Silent)?.vectors;
        let mut vectors = Matrix::zeros(found.rows, width);
        for row in 0..found.rows {
            vectors.row_mut(row)[..found.width].copy_from_slice(found.row(row));
        }
        Ok(self.onto(Some(vectors)))
    }

    /// The same onto other directions, from which nothing is subtracted.
    pub fn onto(&self, vectors: Option<Matrix<f32>>) -> Transform {
        Transform {
            settings: self.settings.clone(),
            width: self.width,
            scale: self.scale.clone(),
            shift: self.shift.clone(),
            measures: self.measures.clone(),
            vectors,
            singular_values: None,
            mean: None,
        }
    }

    /// Columns of what it gives.
    pub fn output_width(&self) -> usize {
        self.vectors.as_ref().map_or(self.width, |vectors| vectors.width)
    }

    /// Refuses features with other columns.
    pub fn check(&self, features: &Features) -> Result<()> {
        if features.width() == self.width {
            return Ok(());
        }
        Err(Error::setting(
            "features",
            format!("{} columns", features.width()),
            format!(
                "the model was made for {}; embed a graph with the same {} feature columns",
                self.width, self.width
            ),
        ))
    }

    /// X̂ of some features.
    fn scaled<'a>(&'a self, features: &'a Features) -> Scaled<'a> {
        assert_eq!(features.width(), self.width, "columns of the features, see `check`");
        Scaled {
            features,
            scale: self.scale.as_deref(),
            shift: self.shift.as_deref(),
            measures: self.measures.as_ref(),
            rows: self.settings.rows,
            factors: None,
        }
    }
}

/// One over a deviation; 1 where there is none, or one so small that nothing can be
/// divided by it.
fn over(deviation: f64) -> f32 {
    let scale = (1.0 / deviation) as f32;
    if scale.is_finite() { scale } else { 1.0 }
}
