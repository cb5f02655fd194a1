//! One array of a store: a `.npy` file that is written once and then mapped.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use super::manifest::ArrayEntry;
use crate::error::{Error, Result};
use crate::io::npy;
use crate::math::{Array, Element};

/// What a store's arrays hold, with NumPy's name for it.
pub(super) trait NpyElement: Element {
    const DESCR: &'static str;
}
impl NpyElement for u8 {
    const DESCR: &'static str = "|u1";
}
impl NpyElement for i32 {
    const DESCR: &'static str = "<i4";
}
impl NpyElement for u32 {
    const DESCR: &'static str = "<u4";
}
impl NpyElement for u64 {
    const DESCR: &'static str = "<u8";
}
impl NpyElement for f32 {
    const DESCR: &'static str = "<f4";
}

/// Writes an array of which the length is known only at the end: the header is
/// written last, over a place kept free for it.
pub(super) struct ArrayWriter<T> {
    path: PathBuf,
    file: BufWriter<File>,
    count: u64,
    of: PhantomData<T>,
}

/// Any shape with two dimensions of 64-bit numbers fits.
const HEADER: usize = 128;

impl<T: NpyElement> ArrayWriter<T> {
    pub(super) fn create(path: PathBuf) -> Result<ArrayWriter<T>> {
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&[b' '; HEADER]).map_err(Error::io("write", &path))?;
        Ok(ArrayWriter { path, file, count: 0, of: PhantomData })
    }

    pub(super) fn write(&mut self, values: &[T]) -> Result<()> {
        self.count += values.len() as u64;
        self.file.write_all(bytemuck::cast_slice(values)).map_err(Error::io("write", &self.path))
    }

    /// Elements so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the header. `shape` accounts for every element written.
    pub(super) fn finish(self, shape: &[u64]) -> Result<()> {
        assert_eq!(shape.iter().product::<u64>(), self.count, "{}", self.path.display());
        let mut header = npy::header(T::DESCR, shape);
        assert!(header.len() <= HEADER, "two dimensions fit");
        // Padding is spaces before the final line feed; its length is in bytes 8 and 9.
        header.pop();
        header.resize(HEADER - 1, b' ');
        header.push(b'\n');
        header[8..10].copy_from_slice(&(HEADER as u16 - 10).to_le_bytes());
        let failed = || Error::io("write", &self.path);
        let mut file = self.file.into_inner().map_err(|e| failed()(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed())?;
        file.write_all(&header).map_err(failed())
    }
}

/// Writes an array that is all there.
pub(super) fn write_array<T: NpyElement>(path: PathBuf, values: &[T], shape: &[u64]) -> Result<()> {
    let mut writer = ArrayWriter::create(path)?;
    writer.write(values)?;
    writer.finish(shape)
}

/// Makes a finished file durable and takes its size and checksum from what is
/// really there.
pub(super) fn seal(path: &Path) -> Result<ArrayEntry> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(Error::io("open", path))?;
    let (synced, hashed) = rayon::join(|| file.sync_all(), || checksum(path));
    synced.map_err(Error::io("write", path))?;
    hashed
}

/// Size and checksum of a file.
pub(super) fn checksum(path: &Path) -> Result<ArrayEntry> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0u8; 4 << 20];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer).map_err(Error::io("read", path))?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        hasher.update_rayon(&buffer[..read]);
    }
    Ok(ArrayEntry { bytes, blake3: hasher.finalize().to_hex().to_string() })
}

/// Maps a file whose size the manifest knows.
pub(super) fn map_file(path: &Path, bytes: u64) -> Result<Arc<Mmap>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let found = file.metadata().map_err(Error::io("open", path))?.len();
    if found != bytes {
        return Err(damaged(path, format!("has {found} bytes, the manifest says {bytes}")));
    }
    // SAFETY: a store is never changed in place, only replaced as a whole folder, so
    // the mapped bytes stay what they are while the map lives.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
    Ok(Arc::new(map))
}

/// Maps an array and checks its type and shape; reads its header only.
pub(super) fn map_array<T: NpyElement>(path: &Path, bytes: u64, shape: &[u64]) -> Result<Array<T>> {
    let map = map_file(path, bytes)?;
    let (header, start) = npy::parse_header(&map).map_err(|problem| damaged(path, problem))?;
    let c_order = !header.fortran || shape.len() < 2;
    if header.descr != T::DESCR || header.shape != shape || !c_order {
        let problem = format!(
            "holds {} {:?}, the manifest says {} {shape:?}",
            header.descr,
            header.shape,
            T::DESCR
        );
        return Err(damaged(path, problem));
    }
    let count = shape.iter().product::<u64>() as usize;
    if map.len() - start != count * size_of::<T>() {
        return Err(damaged(path, "its size does not fit its shape"));
    }
    Array::mapped(map, start, count).ok_or_else(|| damaged(path, "its numbers are not aligned"))
}

/// A file of the store that is not what it was.
pub(super) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    Error::store(path, problem, "the store is damaged: import the graph again")
}
