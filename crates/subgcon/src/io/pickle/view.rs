//! What do the objects of a pickle mean?
//!
//! - An array is `_reconstruct(ndarray, (0,), 'b')` with the state
//!   (1, shape, dtype, is_fortran, bytes).
//! - A dtype is `dtype('f4', 0, 1)` with the state (3, '<', …).
//! - A CSR matrix has a dictionary as state: `_shape`, `indptr`, `indices`, `data`.
//!
//! Every look goes a fixed number of levels down, so a pickle that contains
//! itself does no harm.

use super::{Global, Object, Pickle, Value};
use crate::error::{Error, Result, shown};
use crate::io::csr::Csr;
use crate::io::npy::{Dtype, Kind, Number, decode, transpose};

const REMEDY: &str = "fetch the original file again";

/// An array as the pickle describes it, checked.
#[derive(Debug)]
pub(crate) struct ArrayView<'a> {
    /// Lengths of the dimensions.
    pub(crate) shape: Vec<u64>,
    dtype: Dtype,
    fortran: bool,
    bytes: &'a [u8],
}

impl Pickle {
    /// The thing that was pickled.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// An error about this pickle.
    pub(crate) fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, problem, REMEDY)
    }

    fn object(&self, value: &Value) -> Option<&Object> {
        match value {
            Value::Object(index) => self.objects.get(*index),
            _ => None,
        }
    }

    fn tuple(&self, value: &Value) -> Option<&[Value]> {
        match self.object(value)? {
            Object::Tuple(parts) => Some(parts),
            _ => None,
        }
    }

    fn text(&self, value: &Value) -> Option<&str> {
        match value {
            Value::Bytes(from, to) => std::str::from_utf8(self.bytes.get(*from..*to)?).ok(),
            _ => None,
        }
    }

    /// The state of an object of this class.
    fn state(&self, value: &Value, wanted: Global) -> Option<&Value> {
        match self.object(value)? {
            Object::Made { class, state: Some(state), .. } if *class == wanted => Some(state),
            _ => None,
        }
    }

    /// A shape: a tuple of lengths.
    fn shape(&self, value: &Value) -> Option<Vec<u64>> {
        let length = |part: &Value| match part {
            Value::Int(length) => u64::try_from(*length).ok(),
            _ => None,
        };
        self.tuple(value)?.iter().map(length).collect()
    }

    fn dtype(&self, value: &Value) -> Option<Result<Dtype>> {
        let Object::Made { class: Global::Dtype, arguments, state: Some(state) } =
            self.object(value)?
        else {
            return None;
        };
        let code = self.text(self.tuple(arguments)?.first()?)?;
        let order = self.text(self.tuple(state)?.get(1)?)?;
        let known = Dtype::parse(&format!("{order}{code}")).ok().filter(|dtype| {
            matches!(dtype.kind, Kind::Bool | Kind::Signed | Kind::Unsigned | Kind::Float)
        });
        Some(known.ok_or_else(|| {
            self.refuse(format!("has an array of type {}", shown(&format!("{order}{code}"))))
        }))
    }

    /// An array; `what` names it in messages.
    pub(crate) fn array(&self, value: &Value, what: &str) -> Result<ArrayView<'_>> {
        let strange = || self.refuse(format!("{what} is not a NumPy array as numpy pickles it"));
        let state = self.state(value, Global::NdArray).ok_or_else(strange)?;
        let state = self.tuple(state).ok_or_else(strange)?;
        let [
            Value::Int(1),
            shape,
            dtype,
            Value::Bool(_) | Value::Int(0 | 1),
            Value::Bytes(from, to),
        ] = state
        else {
            return Err(strange());
        };
        let fortran = matches!(state[3], Value::Bool(true) | Value::Int(1));
        let shape = self.shape(shape).ok_or_else(strange)?;
        let dtype = self.dtype(dtype).ok_or_else(strange)??;
        let bytes = self.bytes.get(*from..*to).ok_or_else(strange)?;
        let wanted = shape
            .iter()
            .try_fold(dtype.size as u64, |product, &length| product.checked_mul(length));
        if wanted != Some(bytes.len() as u64) {
            return Err(self.refuse(format!(
                "{what} claims shape {shape:?} of {}-byte values but has {} bytes",
                dtype.size,
                bytes.len()
            )));
        }
        Ok(ArrayView { shape, dtype, fortran, bytes })
    }

    /// All values of an array, row by row.
    pub(crate) fn values<T: Number>(&self, array: &ArrayView<'_>, what: &str) -> Result<Vec<T>> {
        let mut values = Vec::new();
        decode(array.dtype, array.bytes, &mut values).map_err(|misfit| {
            self.refuse(format!("value {} of {what} {}", misfit.index, misfit.problem))
        })?;
        match (array.fortran, &array.shape[..]) {
            (false, _) | (true, [] | [_]) => Ok(values),
            (true, &[rows, columns]) => Ok(transpose(&values, rows as usize, columns as usize)),
            _ => Err(self.refuse(format!("{what} has more than two dimensions"))),
        }
    }

    /// The values of a one-dimensional array.
    fn vector<T: Number>(&self, value: &Value, what: &str) -> Result<Vec<T>> {
        let array = self.array(value, what)?;
        if array.shape.len() != 1 {
            return Err(self.refuse(format!("{what} has shape {:?}", array.shape)));
        }
        self.values(&array, what)
    }

    /// A CSR matrix.
    pub(crate) fn csr(&self, value: &Value) -> Result<Csr> {
        let state = self
            .state(value, Global::CsrMatrix)
            .ok_or_else(|| self.refuse("is not a pickled csr_matrix"))?;
        let Some(Object::Dict(state)) = self.object(state) else {
            return Err(self.refuse("its csr_matrix has no dictionary as state"));
        };
        let part = |name: &str| {
            let found = state.iter().rev().find(|(key, _)| self.text(key) == Some(name));
            found
                .map(|(_, value)| value)
                .ok_or_else(|| self.refuse(format!("its csr_matrix lacks {name}")))
        };
        let shape = part("_shape").or_else(|_| part("shape"))?;
        let Some(&[rows, columns]) = self.shape(shape).as_deref() else {
            return Err(self.refuse("its csr_matrix has a shape that is not two lengths"));
        };
        Csr::checked(
            &(&self.path).into(),
            (rows, columns),
            self.vector(part("indptr")?, "indptr")?,
            self.vector(part("indices")?, "indices")?,
            self.vector(part("data")?, "data")?,
        )
    }

    /// A dictionary from integers to lists of integers, pair by pair in the
    /// order of the file. One list under many keys could unfold to far more
    /// than the file holds, so the items in all may not outnumber its bytes.
    pub(crate) fn lists(
        &self,
        value: &Value,
        mut each: impl FnMut(i64, &mut dyn Iterator<Item = Result<i64>>) -> Result<()>,
    ) -> Result<()> {
        let Some(Object::Dict(pairs)) = self.object(value) else {
            return Err(self.refuse("is not a dictionary"));
        };
        let mut left = self.bytes.len();
        for (key, list) in pairs {
            let (Value::Int(key), Some(Object::List(items))) = (key, self.object(list)) else {
                return Err(self.refuse("is not a dictionary from integers to lists"));
            };
            left = left
                .checked_sub(items.len())
                .ok_or_else(|| self.refuse("has the same list under many keys"))?;
            let mut items = items.iter().map(|item| match item {
                Value::Int(item) => Ok(*item),
                _ => {
                    Err(self.refuse(format!("the list of {key} has something else than integers")))
                }
            });
            each(*key, &mut items)?;
        }
        Ok(())
    }
}
