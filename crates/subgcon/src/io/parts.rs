//! How are named tensors gathered for a file, and taken out of one, one by one?

use std::path::{Path, PathBuf};

use super::tensors::{NamedTensor, NamedTensorRef, TensorValues, TensorValuesRef, write_tensors};
use crate::config::Settings;
use crate::encoder::Encoder;
use crate::error::{Error, Result};
use crate::math::Matrix;

/// Tensors to be written, with names and shapes of their own.
#[derive(Default)]
pub(super) struct Collected<'a>(Vec<(String, Vec<usize>, TensorValuesRef<'a>)>);

impl<'a> Collected<'a> {
    pub(super) fn add(&mut self, name: String, shape: Vec<usize>, values: TensorValuesRef<'a>) {
        self.0.push((name, shape, values));
    }

    pub(super) fn vector(&mut self, name: &str, values: Option<&'a Vec<f32>>) {
        if let Some(values) = values {
            self.add(name.to_owned(), vec![values.len()], TensorValuesRef::F32(values));
        }
    }

    pub(super) fn matrix(&mut self, name: &str, matrix: Option<&'a Matrix<f32>>) {
        if let Some(matrix) = matrix {
            let shape = vec![matrix.rows, matrix.width];
            self.add(name.to_owned(), shape, TensorValuesRef::F32(&matrix.values));
        }
    }

    pub(super) fn encoder(&mut self, prefix: &str, encoder: &'a Encoder<f32>) {
        for (name, shape, values) in encoder.named() {
            self.add(format!("{prefix}{name}"), shape, TensorValuesRef::F32(values));
        }
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let views: Vec<NamedTensorRef<'_>> = self
            .0
            .iter()
            .map(|(name, shape, values)| NamedTensorRef { name, shape, values: *values })
            .collect();
        write_tensors(path, &views)
    }
}

/// Tensors that are taken one by one, so that a strange one is noticed.
pub(super) struct Parts {
    pub(super) path: PathBuf,
    pub(super) tensors: Vec<NamedTensor>,
    pub(super) remedy: &'static str,
}

impl Parts {
    pub(super) fn damaged(&self, problem: &str) -> Error {
        Error::store(&self.path, problem, self.remedy)
    }

    pub(super) fn take_any(&mut self, name: &str) -> Result<Option<(Vec<usize>, Vec<f32>)>> {
        let Some(tensor) = self.take_tensor(name) else { return Ok(None) };
        match tensor.values {
            TensorValues::F32(values) => Ok(Some((tensor.shape, values))),
            _ => Err(self.damaged(&format!("{name:?} holds no 32-bit floating-point numbers"))),
        }
    }

    /// (rows, any width).
    pub(super) fn take_matrix(&mut self, name: &str, rows: usize) -> Result<Option<Matrix<f32>>> {
        match self.take_any(name)? {
            None => Ok(None),
            Some((shape, values)) => {
                match shape[..] {
                    [found, width] if found == rows => Ok(Some(Matrix::of(rows, width, values))),
                    _ => Err(self
                        .damaged(&format!("{name:?} has shape {shape:?}, expected {rows} rows"))),
                }
            }
        }
    }

    /// Of whatever kind its numbers are.
    pub(super) fn take_tensor(&mut self, name: &str) -> Option<NamedTensor> {
        let at = self.tensors.iter().position(|tensor| tensor.name == name)?;
        Some(self.tensors.remove(at))
    }

    pub(super) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Option<Vec<f32>>> {
        match self.take_any(name)? {
            Some((found, _)) if found != shape => {
                Err(self.damaged(&format!("{name:?} has shape {found:?}, expected {shape:?}")))
            }
            found => Ok(found.map(|(_, values)| values)),
        }
    }
}

/// The encoder whose parameters' names begin with `prefix`.
pub(super) fn read_encoder(
    parts: &mut Parts,
    prefix: &str,
    settings: &Settings,
    inputs: usize,
) -> Result<Encoder<f32>> {
    // Widths in settings are claims: nothing is made by them that the file does not hold.
    let there = parts.tensors.iter().map(|tensor| match &tensor.values {
        TensorValues::F32(values) => values.len(),
        _ => 0,
    });
    let (there, width) = (there.sum::<usize>(), settings.encoder.width);
    let longest = if settings.encoder.layers > 1 { inputs.max(width) } else { inputs };
    let fits = |numbers: Option<usize>| numbers.is_some_and(|numbers| numbers <= there);
    if !fits(longest.checked_mul(width)) || !fits(settings.encoder.layers.checked_mul(width)) {
        let problem = format!(
            "holds {there} numbers, too few for an encoder of {inputs} features and width {width}"
        );
        return Err(parts.damaged(&problem));
    }
    let mut encoder = Encoder::new(&settings.encoder, inputs, settings.seed);
    for parameter in encoder.parameters() {
        let name = format!("{prefix}{}", parameter.name);
        match parts.take(&name, &parameter.shape)? {
            Some(values) => parameter.values.copy_from_slice(&values),
            None => return Err(parts.damaged(&format!("{name:?} is missing"))),
        }
    }
    Ok(encoder)
}
