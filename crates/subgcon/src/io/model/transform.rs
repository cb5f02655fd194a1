//! How does a transform lie among a model's tensors?

use std::iter;

use crate::config::{FeatureSettings, Standardize};
use crate::error::Result;
use crate::io::parts::{Collected, Parts};
use crate::io::tensors::{TensorValues, TensorValuesRef};
use crate::transform::{Measures, Transform};

const SCALE: &str = "transform.scale";
const SHIFT: &str = "transform.shift";
const MEASURES: &str = "transform.measures";
const VECTORS: &str = "transform.vectors";
const MEAN: &str = "transform.mean";
const SINGULAR_VALUES: &str = "transform.singular_values";

/// Whether rows of zeros are absent, then the columns that are measures.
pub(super) fn measures_written(transform: &Transform) -> Option<Vec<u64>> {
    transform.measures.as_ref().map(|measures| {
        let columns = measures.columns.iter().copied().map(u64::from);
        iter::once(u64::from(measures.absent)).chain(columns).collect()
    })
}

/// `measures`: as [`measures_written`] has them.
pub(super) fn collect<'a>(
    tensors: &mut Collected<'a>,
    transform: &'a Transform,
    measures: Option<&'a [u64]>,
) {
    tensors.vector(SCALE, transform.scale.as_ref());
    tensors.vector(SHIFT, transform.shift.as_ref());
    if let Some(measures) = measures {
        tensors.add(MEASURES.into(), vec![measures.len()], TensorValuesRef::U64(measures));
    }
    tensors.vector(MEAN, transform.mean.as_ref());
    tensors.vector(SINGULAR_VALUES, transform.singular_values.as_ref());
    tensors.matrix(VECTORS, transform.vectors.as_ref());
}

/// Takes a transform of so many features and checks that it is what the settings ask for.
pub(super) fn read(
    parts: &mut Parts,
    settings: &FeatureSettings,
    width: usize,
) -> Result<Transform> {
    let vectors = parts.take_matrix(VECTORS, width)?;
    let projected = vectors.as_ref().map_or(width, |vectors| vectors.width);
    let transform = Transform {
        settings: settings.clone(),
        width,
        scale: parts.take(SCALE, &[width])?,
        shift: parts.take(SHIFT, &[width])?,
        measures: read_measures(parts, width)?,
        mean: parts.take(MEAN, &[projected])?,
        singular_values: parts.take(SINGULAR_VALUES, &[projected])?,
        vectors,
    };
    match misfit(&transform) {
        None => Ok(transform),
        Some(tensor) => Err(parts.damaged(&format!("{tensor} does not fit the settings"))),
    }
}

/// Whether rows of zeros are absent, then which columns are measures, rising.
fn read_measures(parts: &mut Parts, width: usize) -> Result<Option<Measures>> {
    let Some(tensor) = parts.take_tensor(MEASURES) else { return Ok(None) };
    if let (TensorValues::U64(values), 1) = (&tensor.values, tensor.shape.len())
        && let [absent @ 0..=1, columns @ .., last] = &values[..]
        && *last < width as u64
        && values[1..].is_sorted_by(|a, b| a < b)
    {
        let columns = columns.iter().chain([last]).map(|&column| column as u32).collect();
        return Ok(Some(Measures { columns, absent: *absent == 1 }));
    }
    Err(parts.damaged(&format!("{MEASURES} are no columns of the features, rising")))
}

/// What of a transform is not as the settings ask for it.
fn misfit(transform: &Transform) -> Option<&'static str> {
    let Transform { settings, scale, shift, measures, vectors, mean, .. } = transform;
    let projection = settings.projection.as_ref();
    if vectors.is_some() != projection.is_some() {
        return Some(VECTORS);
    }
    if mean.is_some() != projection.is_some_and(|projection| projection.center) {
        return Some(MEAN);
    }
    let standardize = match settings.standardize {
        // As in `Transform::fit`.
        Standardize::Auto if settings.structural => Standardize::All,
        chosen => chosen,
    };
    // Which of them there have to be; a mean is not subtracted from sparse features.
    let scaled = match standardize {
        Standardize::No => false,
        Standardize::All => true,
        Standardize::Auto => measures.is_some(),
    };
    let shifted = match standardize {
        Standardize::All => shift.is_some(),
        _ => scaled,
    };
    let is_measure = |at: usize| {
        let columns = measures.as_ref().map(|measures| &measures.columns);
        columns.is_none_or(|columns| columns.binary_search(&(at as u32)).is_ok())
    };
    let mut shifts = shift.iter().flatten().enumerate();
    if measures.is_some() && standardize != Standardize::Auto
        || !shifts.all(|(at, &shift)| shift == 0.0 || is_measure(at))
    {
        return Some(MEASURES);
    }
    match (scale.is_some() == scaled, shift.is_some() == shifted) {
        (false, _) => Some(SCALE),
        (_, false) => Some(SHIFT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::model::tests::model;
    use crate::io::model::{read_model, write_model};
    use crate::model::Model;

    type Change = fn(&mut Model);

    fn change_settings(model: &mut Model, change: fn(&mut FeatureSettings)) {
        change(&mut model.settings.features);
        change(&mut model.transform.settings);
    }

    #[test]
    fn measures_are_kept_and_checked() {
        fn of(columns: &[u32]) -> Measures {
            Measures { columns: columns.to_vec(), absent: true }
        }
        let root = tempfile::tempdir().unwrap();
        let read = |change: fn(&mut Model)| {
            let mut model = model([0.25, 0.5, 0.75]);
            model.transform.shift = Some(vec![0.0, 40.0]);
            model.transform.scale = Some(vec![1.0, 0.1]);
            model.transform.measures = Some(of(&[1]));
            change(&mut model);
            let path = root.path().join("m.model");
            write_model(&path, &model, &[], None, true).unwrap();
            (read_model(&path).map(|(model, _)| model), model)
        };
        for change in [
            |_: &mut Model| {},
            |model: &mut Model| {
                model.transform.measures = Some(Measures { absent: false, ..of(&[1]) });
            },
        ] {
            let (found, wanted) = read(change);
            assert_eq!(found.unwrap(), wanted);
        }
        let refused = |change| read(change).0.unwrap_err().to_string();
        let changes: [(Change, &str); 13] = [
            (|model| model.transform.measures = Some(of(&[2])), "measures are no columns"),
            (|model| model.transform.measures = Some(of(&[1, 0])), "measures are no columns"),
            (|model| model.transform.measures = Some(of(&[1, 1])), "measures are no columns"),
            (|model| model.transform.measures = Some(of(&[])), "measures are no columns"),
            (|model| model.transform.measures = None, "scale does not fit"),
            (|model| model.transform.measures = Some(of(&[0])), "measures does not fit"),
            (|model| model.transform.scale = None, "scale does not fit"),
            (|model| model.transform.shift = None, "shift does not fit"),
            (
                |model| change_settings(model, |features| features.structural = true),
                "measures does not fit",
            ),
            (
                |model| change_settings(model, |features| features.standardize = Standardize::All),
                "measures does not fit",
            ),
            (
                |model| {
                    change_settings(model, |features| features.standardize = Standardize::No);
                    (model.transform.measures, model.transform.scale) = (None, None);
                },
                "shift does not fit",
            ),
            (
                |model| {
                    change_settings(model, |features| features.standardize = Standardize::All);
                    (model.transform.measures, model.transform.scale) = (None, None);
                },
                "scale does not fit",
            ),
            (|model| model.transform.mean = Some(vec![0.5; 2]), "mean does not fit"),
        ];
        for (change, problem) in changes {
            let told = refused(change);
            assert!(told.contains(&format!("transform.{problem}")), "{told}");
        }
    }
}
