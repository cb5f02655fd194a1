//! A one-dimensional array that is in memory, mapped from a file, or lent by somebody.
//!
//! Kernels see a slice and need not know which. Mapped arrays cost nothing to
//! open: the operating system reads the pages that are touched. Lent ones lie in
//! memory that somebody else allocated, such as NumPy.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// What an array can hold: plain little-endian numbers.
pub trait Element: bytemuck::Pod + Send + Sync {}
impl<T: bytemuck::Pod + Send + Sync> Element for T {}

#[cfg(target_endian = "big")]
compile_error!("arrays are mapped as they lie on disk, which is little-endian");

/// An array in memory, in a mapped file or lent; reads as a slice. Cloning it is free.
#[derive(Clone)]
pub struct Array<T: Element>(Inner<T>);

#[derive(Clone)]
enum Inner<T: Element> {
    Owned(Arc<Vec<T>>),
    Mapped { map: Arc<Mmap>, start: usize, end: usize, of: PhantomData<T> },
    Lent(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T: Element> Array<T> {
    /// The bytes `start..start + len * size_of::<T>()` of a mapped file, or
    /// nothing where they lie outside it or are not aligned for `T`.
    pub fn mapped(map: Arc<Mmap>, start: usize, len: usize) -> Option<Array<T>> {
        let end = len.checked_mul(size_of::<T>())?.checked_add(start)?;
        bytemuck::try_cast_slice::<u8, T>(map.get(start..end)?).ok()?;
        Some(Array(Inner::Mapped { map, start, end, of: PhantomData }))
    }

    /// What somebody else holds, who lives as long as this array and its clones do. It
    /// answers with the same numbers whenever it is asked.
    pub fn lent(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Array<T> {
        Array(Inner::Lent(Arc::new(owner)))
    }
}

impl<T: Element> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Array<T> {
        Array(Inner::Owned(Arc::new(values)))
    }
}

impl<T: Element> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Inner::Owned(values) => values,
            Inner::Mapped { map, start, end, .. } => bytemuck::cast_slice(&map[*start..*end]),
            Inner::Lent(owner) => (**owner).as_ref(),
        }
    }
}

impl<T: Element + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Array<T>) -> bool {
        self[..] == other[..]
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().take(8)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lent_array_is_not_copied_and_its_owner_lives_on() {
        struct Owner {
            values: Vec<f32>,
            _alive: Arc<()>,
        }
        impl AsRef<[f32]> for Owner {
            fn as_ref(&self) -> &[f32] {
                &self.values
            }
        }
        let alive = Arc::new(());
        let values = vec![1.0, 2.0, 3.0];
        let place = values.as_ptr();
        let array = Array::lent(Owner { values, _alive: Arc::clone(&alive) });
        let again = array.clone();
        drop(array);
        assert_eq!((again.as_ptr(), &again[..]), (place, &[1.0, 2.0, 3.0][..]));
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(again);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
