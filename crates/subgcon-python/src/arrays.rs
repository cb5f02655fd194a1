//! How do NumPy's arrays become ours, and ours NumPy's, without a copy?

use numpy::ndarray::{ArrayView, Dimension, Ix1, Ix2};
use numpy::{Element, PyArray, PyArrayMethods, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use subgcon::math::{self, Array};

use crate::errors::wrong;

/// Numbers in memory that NumPy keeps.
struct Lent<T> {
    start: *const T,
    len: usize,
    _owner: Py<PyAny>,
}

// SAFETY: the numbers are only read, by any thread; `Py` may be moved and dropped anywhere.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Send for Lent<T> {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl<T: Send + Sync> Sync for Lent<T> {}

impl<T> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `lend` took start and length from a contiguous array, whose memory NumPy
        // neither moves nor frees while there is a reference to it. That nobody writes into
        // it while we read is asked of the caller (docs/python.md).
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.start, self.len)
        }
    }
}

/// A contiguous array as one of ours, and its shape.
pub(crate) fn lend<T, D>(array: &Bound<'_, PyAny>) -> PyResult<(Array<T>, Vec<usize>)>
where
    T: Element + math::Element,
    D: Dimension + 'static,
{
    let array: PyReadonlyArray<'_, T, D> = array
        .extract()
        .map_err(|_| wrong(format!("an array of another type or shape: {array:.40?}")))?;
    // A slice of columns after columns would be taken too, and read as rows after rows.
    let slice = match array.is_c_contiguous() {
        true => array.as_slice().map_err(|_| wrong("an array is not aligned"))?,
        false => return Err(wrong("an array is not contiguous")),
    };
    let (start, len) = (slice.as_ptr(), slice.len());
    if len == 0 {
        return Ok((Vec::new().into(), array.shape().to_vec()));
    }
    let owner = array.as_any().clone().unbind();
    Ok((Array::lent(Lent { start, len, _owner: owner }), array.shape().to_vec()))
}

/// The same numbers under another name of their type.
struct Cast(Array<i32>);

impl AsRef<[u32]> for Cast {
    fn as_ref(&self) -> &[u32] {
        let numbers: &[i32] = &self.0;
        // SAFETY: i32 and u32 have the same size and alignment, and every pattern is valid.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len())
        }
    }
}

/// Node or column numbers: 32-bit integers as they are, 64-bit ones copied. A negative one
/// becomes one that no graph has.
pub(crate) fn places(array: &Bound<'_, PyAny>) -> PyResult<Array<u32>> {
    if let Ok((numbers, _)) = lend::<i32, Ix1>(array) {
        return Ok(Array::lent(Cast(numbers)));
    }
    let (numbers, _) = lend::<i64, Ix1>(array)?;
    let place = |&number: &i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(numbers.iter().map(place).collect::<Vec<u32>>().into())
}

/// Row offsets, copied.
pub(crate) fn offsets(array: &Bound<'_, PyAny>) -> PyResult<Array<u64>> {
    let offset = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
    let offsets: Vec<u64> = match lend::<i32, Ix1>(array) {
        Ok((numbers, _)) => numbers.iter().map(|&number| offset(number.into())).collect(),
        Err(_) => lend::<i64, Ix1>(array)?.0.iter().map(|&number| offset(number)).collect(),
    };
    Ok(offsets.into())
}

/// A read-only view of numbers that `owner` keeps as long as it lives.
pub(crate) fn view<'py, T: Element, D: Dimension>(
    owner: Bound<'py, PyAny>,
    numbers: &[T],
    shape: D,
) -> PyResult<Bound<'py, PyAny>> {
    let view = ArrayView::from_shape(shape, numbers).map_err(|error| wrong(error.to_string()))?;
    // SAFETY: the owner is one of our frozen classes, which never changes or gives back its
    // arrays while it lives; nobody writes, since the flag is taken away below.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray::borrow_from_array(&view, owner) };
    array.try_readwrite().map_err(|error| wrong(error.to_string()))?.make_nonwriteable();
    Ok(array.into_any())
}

/// A matrix given away to NumPy.
pub(crate) fn matrix(
    py: Python<'_>,
    values: Vec<f32>,
    rows: usize,
    width: usize,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyArray::from_vec(py, values).reshape(Ix2(rows, width))?.into_any())
}
