//! How do weights lie on disk? As a safetensors file: eight bytes for the length
//! of a header, the header (names, types, shapes and places as JSON), then the
//! values without gaps.
//!
//! The format is that of the `safetensors` crate, which reads and writes the
//! header here; values go straight between the file and their arrays, so that
//! nothing is held twice. Tensors lie by falling size of their type, then by
//! name, and the header has one line of its own, a checksum: the same tensors
//! give the same bytes, in whatever order they come. Files without a checksum
//! (from other programs) are read too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::atomic::PartialFile;
use crate::error::{Error, Result};

/// Models have a few dozen tensors; a longer header is a false claim.
const LONGEST_HEADER: u64 = 1 << 24;

/// The key of the checksum among the header's free texts.
const CHECKSUM: &str = "blake3";

/// Values of one type.
#[derive(Debug, Clone, PartialEq)]
pub enum TensorValues {
    /// Weights and what belongs to them; always finite.
    F32(Vec<f32>),
    /// Bytes, such as a text.
    U8(Vec<u8>),
    /// Counts and states of random streams.
    U64(Vec<u64>),
}

/// A tensor, read.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// Its name, one of its kind in a file.
    pub name: String,
    /// Its lengths; empty for a single value.
    pub shape: Vec<usize>,
    /// Its values, the last index running fastest.
    pub values: TensorValues,
}

/// Values of one type, to be written.
#[derive(Debug, Clone, Copy)]
pub enum TensorValuesRef<'a> {
    /// Weights and what belongs to them; always finite.
    F32(&'a [f32]),
    /// Bytes, such as a text.
    U8(&'a [u8]),
    /// Counts and states of random streams.
    U64(&'a [u64]),
}

/// A tensor, to be written.
#[derive(Debug, Clone, Copy)]
pub struct NamedTensorRef<'a> {
    /// Its name, one of its kind in a file.
    pub name: &'a str,
    /// Its lengths; empty for a single value.
    pub shape: &'a [usize],
    /// Its values, the last index running fastest.
    pub values: TensorValuesRef<'a>,
}

impl NamedTensor {
    /// The same, borrowed.
    pub fn view(&self) -> NamedTensorRef<'_> {
        let values = match &self.values {
            TensorValues::F32(values) => TensorValuesRef::F32(values),
            TensorValues::U8(values) => TensorValuesRef::U8(values),
            TensorValues::U64(values) => TensorValuesRef::U64(values),
        };
        NamedTensorRef { name: &self.name, shape: &self.shape, values }
    }
}

impl NamedTensorRef<'_> {
    fn dtype(&self) -> Dtype {
        match self.values {
            TensorValuesRef::F32(_) => Dtype::F32,
            TensorValuesRef::U8(_) => Dtype::U8,
            TensorValuesRef::U64(_) => Dtype::U64,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self.values {
            TensorValuesRef::F32(values) => bytemuck::cast_slice(values),
            TensorValuesRef::U8(values) => values,
            TensorValuesRef::U64(values) => bytemuck::cast_slice(values),
        }
    }

    /// The first value that is no number of a model, told for a message.
    fn not_finite(&self) -> Option<String> {
        let TensorValuesRef::F32(values) = self.values else { return None };
        let place = values.iter().position(|value| !value.is_finite())?;
        Some(format!("tensor {:?} holds {} as value {place}", self.name, values[place]))
    }
}

/// Writes tensors, whole or not at all: what was under this name stays until
/// the new file is on disk. Values that are not finite are refused.
pub fn write_tensors(path: &Path, tensors: &[NamedTensorRef<'_>]) -> Result<()> {
    if let Some(problem) = tensors.iter().find_map(NamedTensorRef::not_finite) {
        let remedy = "the file was not written: training has diverged, lower the learning rate";
        return Err(Error::store(path, problem, remedy));
    }
    let mut tensors = tensors.to_vec();
    // Falling sizes keep every value aligned to its size.
    tensors.sort_by(|a, b| b.dtype().cmp(&a.dtype()).then(a.name.cmp(b.name)));
    let mut end = 0;
    let infos = tensors.iter().map(|tensor| {
        let start = end;
        end += tensor.bytes().len();
        let shape = tensor.shape.to_vec();
        let info = TensorInfo { dtype: tensor.dtype(), shape, data_offsets: (start, end) };
        (tensor.name.to_owned(), info)
    });
    let infos: Vec<_> = infos.collect();
    let texts = HashMap::from([(CHECKSUM.to_owned(), checksum(&tensors))]);
    let metadata = Metadata::new(Some(texts), infos).expect("shapes account for their values");
    let mut header = serde_json::to_vec(&metadata).expect("plain data becomes JSON");
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = PartialFile::create(path, true)?;
    file.put(&(header.len() as u64).to_le_bytes())?;
    file.put(&header)?;
    tensors.iter().try_for_each(|tensor| file.put(tensor.bytes()))?;
    file.finish()
}

/// A BLAKE3 of names, types, shapes and values, in the order of the names.
fn checksum(tensors: &[NamedTensorRef<'_>]) -> String {
    let mut by_name = tensors.to_vec();
    by_name.sort_by_key(|tensor| tensor.name);
    let mut hasher = blake3::Hasher::new();
    for (place, tensor) in by_name.iter().enumerate() {
        assert!(tensor.name != "__metadata__", "the format keeps this name for itself");
        let again = place > 0 && by_name[place - 1].name == tensor.name;
        assert!(!again, "two tensors are called {:?}", tensor.name);
        let line = format!("{:?} {} {:?}\n", tensor.name, tensor.dtype(), tensor.shape);
        hasher.update(line.as_bytes());
        hasher.update_rayon(tensor.bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Reads all tensors of a file, in the order of their names. Everything is
/// checked first; `remedy` is what a user can do about a damaged file.
pub fn read_tensors(path: &Path, remedy: &'static str) -> Result<Vec<NamedTensor>> {
    let damaged = |problem: String| Error::store(path, problem, remedy);
    let unreadable = || Error::io("read", path);
    let file = File::open(path).map_err(Error::io("open", path))?;
    let length = file.metadata().map_err(unreadable())?.len();
    let mut file = BufReader::with_capacity(1 << 16, file);
    let metadata = read_header(&mut file, length, path, remedy)?;
    let mut tensors = Vec::new();
    for name in metadata.offset_keys() {
        let info = metadata.info(&name).expect("it is one of its names");
        // No more than the bytes that are there: the sum was held against them.
        let bytes = info.data_offsets.1 - info.data_offsets.0;
        let values = match info.dtype {
            Dtype::F32 => {
                let mut values = vec![0f32; bytes / 4];
                file.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(unreadable())?;
                TensorValues::F32(values)
            }
            Dtype::U8 => {
                let mut values = vec![0u8; bytes];
                file.read_exact(&mut values).map_err(unreadable())?;
                TensorValues::U8(values)
            }
            Dtype::U64 => {
                let mut values = vec![0u64; bytes / 8];
                file.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(unreadable())?;
                TensorValues::U64(values)
            }
            other => {
                let problem = format!("tensor {name:?} has type {other}, not F32, U8 or U64");
                return Err(damaged(problem));
            }
        };
        tensors.push(NamedTensor { shape: info.shape.clone(), name, values });
    }
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    let views: Vec<_> = tensors.iter().map(NamedTensor::view).collect();
    let told = metadata.metadata().as_ref().and_then(|texts| texts.get(CHECKSUM));
    if told.is_some_and(|told| *told != checksum(&views)) {
        return Err(damaged("its values have changed since they were written".into()));
    }
    match views.iter().find_map(NamedTensorRef::not_finite) {
        Some(problem) => Err(damaged(problem)),
        None => Ok(tensors),
    }
}

/// Reads the header and holds its claims against the length of the file.
fn read_header(
    file: &mut impl Read,
    length: u64,
    path: &Path,
    remedy: &'static str,
) -> Result<Metadata> {
    let damaged = |problem: String| Err(Error::store(path, problem, remedy));
    let Some(after) = length.checked_sub(8) else {
        return damaged(format!("has {length} bytes, too few for a safetensors file"));
    };
    let mut claimed = [0; 8];
    file.read_exact(&mut claimed).map_err(Error::io("read", path))?;
    let claimed = u64::from_le_bytes(claimed);
    if claimed > after {
        return damaged(format!("claims a header of {claimed} bytes, but {after} are left"));
    }
    if claimed > LONGEST_HEADER {
        return damaged(format!("claims a header of {claimed} bytes, which no model has"));
    }
    let mut header = vec![0; claimed as usize];
    file.read_exact(&mut header).map_err(Error::io("read", path))?;
    let metadata: Metadata = match serde_json::from_slice(&header) {
        Ok(metadata) => metadata,
        Err(error) => return damaged(format!("its header cannot be read: {error}")),
    };
    let (values, there) = (metadata.data_len() as u64, after - claimed);
    if values != there {
        return damaged(format!("its tensors take {values} bytes, but {there} follow the header"));
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests;
