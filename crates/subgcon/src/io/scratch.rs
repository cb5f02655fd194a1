//! Room for numbers that need not fit into memory.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::path::Path;

use memmap2::MmapMut;

use crate::error::{Error, Result};

/// Up to this many bytes lie in memory.
const SMALL: u64 = 256 << 20;

/// Numbers in memory, or in a mapped file that the system may write out, and that is
/// gone when the process is.
#[derive(Debug)]
pub enum Scratch {
    /// In memory.
    Memory(Vec<f32>),
    /// In a file without a name.
    Mapped(MmapMut),
}

impl Scratch {
    /// Zeros; `beside` is a file in whose folder there is room.
    pub fn zeros(count: usize, beside: &Path) -> Result<Scratch> {
        let bytes = count as u64 * size_of::<f32>() as u64;
        if bytes <= SMALL {
            return Ok(Scratch::Memory(vec![0.0; count]));
        }
        let folder = match beside.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let path = folder.join(format!(".subgcon.{}.scratch", std::process::id()));
        let failed = || Error::io("write", &path);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(failed())?;
        fs::remove_file(&path).map_err(failed())?;
        // Reserved now, so that a full disk is an error here and no fault later.
        match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            // Some file systems cannot reserve: zeros do the same, more slowly.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                std::io::copy(&mut std::io::repeat(0).take(bytes), &mut &file).map_err(failed())?;
            }
            reserved => reserved.map_err(|error| failed()(error.into()))?,
        }
        // SAFETY: the file has no name any more and no other handle, so nobody else
        // changes it.
        #[allow(unsafe_code)]
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(Error::io("map", &path))?;
        Ok(Scratch::Mapped(map))
    }

    /// The numbers.
    pub fn values(&mut self) -> &mut [f32] {
        match self {
            Scratch::Memory(values) => values,
            Scratch::Mapped(map) => bytemuck::cast_slice_mut(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_room_is_a_file_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let beside = folder.path().join("out.parquet");
        let mut large = Scratch::zeros((SMALL / 4) as usize + 5, &beside).unwrap();
        assert!(matches!(large, Scratch::Mapped(_)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let values = large.values();
        assert_eq!(values.len(), (SMALL / 4) as usize + 5);
        values[7] = 3.0;
        assert_eq!(large.values()[6..9], [0.0, 3.0, 0.0]);
        let mut small = Scratch::zeros(10, &beside).unwrap();
        assert!(matches!(small, Scratch::Memory(_)));
        assert_eq!(small.values(), [0.0; 10]);
        assert!(Scratch::zeros(1 << 30, &folder.path().join("no/out")).is_err());
    }
}
