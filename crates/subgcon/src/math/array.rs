//! A one-dimensional array that is either in memory or mapped from a file.
//!
//! Kernels see a slice and need not know which. Mapped arrays cost nothing to
//! open: the operating system reads the pages that are touched.

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

/// An array in memory or in a mapped file; reads as a slice. Cloning a mapped
/// array is free.
#[derive(Clone)]
pub struct Array<T: Element>(Inner<T>);

#[derive(Clone)]
enum Inner<T: Element> {
    Owned(Arc<Vec<T>>),
    Mapped { map: Arc<Mmap>, start: usize, end: usize, of: PhantomData<T> },
}

impl<T: Element> Array<T> {
    /// The bytes `start..start + len * size_of::<T>()` of a mapped file, or
    /// nothing where they lie outside it or are not aligned for `T`.
    pub fn mapped(map: Arc<Mmap>, start: usize, len: usize) -> Option<Array<T>> {
        let end = len.checked_mul(size_of::<T>())?.checked_add(start)?;
        bytemuck::try_cast_slice::<u8, T>(map.get(start..end)?).ok()?;
        Some(Array(Inner::Mapped { map, start, end, of: PhantomData }))
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
