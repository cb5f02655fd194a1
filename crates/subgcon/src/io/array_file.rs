//! One array of a store or a table: a `.npy` file that is written once and then
//! mapped.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::io::npy;
use crate::math::{Array, Element};

/// Size and checksum of a file, as a manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayEntry {
    /// Size of the whole file.
    pub bytes: u64,
    /// BLAKE3 of the whole file, as `b3sum` prints it.
    pub blake3: String,
}

/// What arrays hold, with NumPy's name for it.
pub(crate) trait NpyElement: Element {
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
pub(crate) struct ArrayWriter<T> {
    path: PathBuf,
    file: BufWriter<File>,
    count: u64,
    of: PhantomData<T>,
}

/// Any shape with two dimensions of 64-bit numbers fits.
const HEADER: usize = 128;

impl<T: NpyElement> ArrayWriter<T> {
    pub(crate) fn create(path: PathBuf) -> Result<ArrayWriter<T>> {
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&[b' '; HEADER]).map_err(Error::io("write", &path))?;
        Ok(ArrayWriter { path, file, count: 0, of: PhantomData })
    }

    pub(crate) fn write(&mut self, values: &[T]) -> Result<()> {
        self.count += values.len() as u64;
        self.file.write_all(bytemuck::cast_slice(values)).map_err(Error::io("write", &self.path))
    }

    /// Elements so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the header. `shape` accounts for every element written.
    pub(crate) fn finish(self, shape: &[u64]) -> Result<()> {
        assert_eq!(shape.iter().product::<u64>(), self.count, "{}", self.path.display());
        let header = padded_header(T::DESCR, shape);
        let failed = || Error::io("write", &self.path);
        let mut file = self.file.into_inner().map_err(|e| failed()(e.into_error()))?;
        file.seek(SeekFrom::Start(0)).map_err(failed())?;
        file.write_all(&header).map_err(failed())
    }
}

/// A header of [`HEADER`] bytes: spaces before the final line feed, the length in
/// bytes 8 and 9.
fn padded_header(descr: &str, shape: &[u64]) -> Vec<u8> {
    let mut header = npy::header(descr, shape);
    assert!(header.len() <= HEADER, "two dimensions fit");
    header.pop();
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header[8..10].copy_from_slice(&(HEADER as u16 - 10).to_le_bytes());
    header
}

/// An array of known shape that is filled in any order, perhaps over several
/// runs of the program.
pub(crate) struct PlacedWriter<T> {
    path: PathBuf,
    file: File,
    of: PhantomData<T>,
}

impl<T: NpyElement> PlacedWriter<T> {
    /// Opens the file, or makes it in its final size. What is already in it stays.
    pub(crate) fn open(path: PathBuf, shape: &[u64]) -> Result<PlacedWriter<T>> {
        let failed = || Error::io("write", &path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed())?;
        let bytes = HEADER as u64 + shape.iter().product::<u64>() * size_of::<T>() as u64;
        file.set_len(bytes).map_err(failed())?;
        file.write_all(&padded_header(T::DESCR, shape)).map_err(failed())?;
        Ok(PlacedWriter { path, file, of: PhantomData })
    }

    /// Writes values from element `at` on.
    pub(crate) fn write(&mut self, at: u64, values: &[T]) -> Result<()> {
        let start = HEADER as u64 + at * size_of::<T>() as u64;
        self.file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.write_all(bytemuck::cast_slice(values)))
            .map_err(Error::io("write", &self.path))
    }

    /// Reads values from element `at` on.
    pub(crate) fn read(&mut self, at: u64, values: &mut [T]) -> Result<()> {
        let start = HEADER as u64 + at * size_of::<T>() as u64;
        self.file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.read_exact(bytemuck::cast_slice_mut(values)))
            .map_err(Error::io("read", &self.path))
    }
}

/// Writes an array that is all there.
pub(crate) fn write_array<T: NpyElement>(path: PathBuf, values: &[T], shape: &[u64]) -> Result<()> {
    let mut writer = ArrayWriter::create(path)?;
    writer.write(values)?;
    writer.finish(shape)
}

/// Makes a finished file durable and takes its size and checksum from what is
/// really there.
pub(crate) fn seal(path: &Path) -> Result<ArrayEntry> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(Error::io("open", path))?;
    let (synced, hashed) = rayon::join(|| file.sync_all(), || checksum(path));
    synced.map_err(Error::io("write", path))?;
    hashed
}

/// Size and checksum of a file.
pub(crate) fn checksum(path: &Path) -> Result<ArrayEntry> {
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

/// Size and checksum of the file that [`write_array`] would write.
pub(crate) fn checksum_of<T: NpyElement>(values: &[T], shape: &[u64]) -> ArrayEntry {
    let mut hasher = blake3::Hasher::new();
    let bytes: &[u8] = bytemuck::cast_slice(values);
    hasher.update(&padded_header(T::DESCR, shape));
    hasher.update_rayon(bytes);
    let size = HEADER as u64 + bytes.len() as u64;
    ArrayEntry { bytes: size, blake3: hasher.finalize().to_hex().to_string() }
}

/// Maps a file whose size the manifest knows.
fn map_file(path: &Path, bytes: u64, remedy: &'static str) -> Result<Arc<Mmap>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let found = file.metadata().map_err(Error::io("open", path))?.len();
    if found != bytes {
        let problem = format!("has {found} bytes, the manifest says {bytes}");
        return Err(Error::store(path, problem, remedy));
    }
    // SAFETY: a store is never changed in place, only replaced as a whole folder, so
    // the mapped bytes stay what they are while the map lives.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
    Ok(Arc::new(map))
}

/// Maps an array and checks its type and shape; reads its header only.
pub(crate) fn map_array<T: NpyElement>(
    path: &Path,
    bytes: u64,
    shape: &[u64],
    remedy: &'static str,
) -> Result<Array<T>> {
    let damaged = |problem: String| Error::store(path, problem, remedy);
    let map = map_file(path, bytes, remedy)?;
    let (header, start) = npy::parse_header(&map).map_err(damaged)?;
    let c_order = !header.fortran || shape.len() < 2;
    if header.descr != T::DESCR || header.shape != shape || !c_order {
        let problem = format!(
            "holds {} {:?}, the manifest says {} {shape:?}",
            header.descr,
            header.shape,
            T::DESCR
        );
        return Err(damaged(problem));
    }
    let count = shape.iter().product::<u64>() as usize;
    if map.len() - start != count * size_of::<T>() {
        return Err(damaged("its size does not fit its shape".into()));
    }
    Array::mapped(map, start, count).ok_or_else(|| damaged("its numbers are not aligned".into()))
}
