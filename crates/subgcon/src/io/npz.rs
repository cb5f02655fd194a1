//! What does a `.npz` archive hold?
//!
//! A ZIP of `.npy` members, stored or deflated, in any order; a member `x.npy`
//! is called `x`. Members are opened by name and read as a stream; the ones
//! nobody asks for are never decoded. Checksums are compared when a member has
//! been read to its end, which [`NpyReader`] always does.

mod sparse;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

pub(crate) use sparse::Orientation;

use super::npy::NpyReader;
use crate::error::{Error, Place, Result, shown};

/// Deflate cannot shrink by more than this factor.
const DEFLATE_LIMIT: u64 = 1032;

const REMEDY: &str = "fetch the archive again or save it again with numpy.savez";

/// An open `.npz` archive.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    length: u64,
    zip: ZipArchive<BufReader<File>>,
}

/// A member of an archive, being read.
pub(crate) type Member<'a> = NpyReader<ZipFile<'a, BufReader<File>>>;

impl Archive {
    /// Opens an archive and reads its list of members.
    pub(crate) fn open(path: &Path) -> Result<Archive> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let length = file.metadata().map_err(Error::io("read", path))?.len();
        let zip = ZipArchive::new(BufReader::with_capacity(1 << 16, file)).map_err(|error| {
            Error::input(path, format!("is no readable .npz archive: {error}"), REMEDY)
        })?;
        Ok(Archive { path: path.to_path_buf(), length, zip })
    }

    /// The archive's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the members without `.npy`, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .zip
            .file_names_raw()
            .map(|name| {
                let name = String::from_utf8_lossy(name);
                name.strip_suffix(".npy").unwrap_or(&name).to_owned()
            })
            .collect();
        names.sort_unstable();
        names
    }

    /// The members for an error message: some names, then how many more.
    pub(crate) fn shown_names(&self) -> String {
        const MOST: usize = 12;
        let names = self.names();
        if names.is_empty() {
            return "no members".into();
        }
        let mut text: Vec<String> = names.iter().take(MOST).map(|name| shown(name)).collect();
        if names.len() > MOST {
            text.push(format!("{} more", names.len() - MOST));
        }
        text.join(", ")
    }

    /// Whether there is a member of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Where a member lies, for messages.
    pub(crate) fn place(&self, name: &str) -> Place {
        Place::member(&self.path, name)
    }

    /// Opens a member.
    pub(crate) fn member(&mut self, name: &str) -> Result<Member<'_>> {
        let place = self.place(name);
        if !self.has(name) {
            let problem = format!("is missing; the archive holds {}", self.shown_names());
            return Err(Error::input(place, problem, "add the member"));
        }
        let refuse = |problem: String| Error::input(place.clone(), problem, REMEDY);
        let file = self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::Io(error) => refuse(format!("cannot be read: {error}")),
            other => refuse(format!("cannot be opened: {other}")),
        })?;
        let (size, packed) = (file.size(), file.compressed_size());
        // The directory's own figures are claims too: they can be no larger
        // than what the archive's bytes could unfold to.
        if packed > self.length || size / DEFLATE_LIMIT > packed {
            return Err(refuse(format!(
                "claims {size} bytes from {packed} in an archive of {}",
                self.length
            )));
        }
        NpyReader::new(file, place, Some(size))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::npy;
    use super::*;
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;

    /// An archive of whole `.npy` files.
    pub(crate) fn archive(members: &[(&str, Vec<u8>)], deflate: bool) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let method = match deflate {
            true => zip::CompressionMethod::Deflated,
            false => zip::CompressionMethod::Stored,
        };
        let options = SimpleFileOptions::default().compression_method(method);
        for (name, bytes) in members {
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// A `.npy` file.
    pub(crate) fn array<T: bytemuck::Pod>(descr: &str, shape: &[u64], values: &[T]) -> Vec<u8> {
        let mut file = npy::header(descr, shape);
        file.extend_from_slice(bytemuck::cast_slice(values));
        file
    }

    pub(crate) fn saved(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npz");
        std::fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    fn values(path: &Path, name: &str) -> Result<Vec<i64>> {
        Archive::open(path)?.member(name)?.all()
    }

    #[test]
    fn members_are_found_by_name_stored_or_deflated() {
        let members =
            [("b", array("<i8", &[3], &[7i64, 8, 9])), ("a.x", array("<i4", &[1], &[5i32]))];
        for deflate in [false, true] {
            let (_dir, path) = saved(&archive(&members, deflate));
            let mut open = Archive::open(&path).unwrap();
            assert_eq!(open.names(), ["a.x", "b"]);
            assert!(open.has("a.x") && !open.has("c"));
            assert_eq!(open.member("b").unwrap().all::<i64>().unwrap(), [7, 8, 9]);
            assert_eq!(open.member("a.x").unwrap().all::<u32>().unwrap(), [5]);
            let error = open.member("c").unwrap_err().to_string();
            assert!(error.contains("a.npz[c]: is missing; the archive holds \"a.x\""), "{error}");
        }
    }

    #[test]
    fn truncated_archives_are_refused() {
        let bytes = archive(&[("a", array("<i8", &[3], &[7i64, 8, 9]))], true);
        for end in 0..bytes.len() {
            let (_dir, path) = saved(&bytes[..end]);
            assert!(matches!(values(&path, "a"), Err(Error::Input { .. })), "cut at {end}");
        }
    }

    #[test]
    fn a_wrong_checksum_is_refused() {
        let mut bytes = archive(&[("a", array("<i8", &[3], &[7i64, 8, 9]))], false);
        let at = bytes.windows(8).position(|eight| eight == 8i64.to_le_bytes()).unwrap();
        bytes[at] ^= 1;
        let (_dir, path) = saved(&bytes);
        let error = values(&path, "a").unwrap_err().to_string();
        assert!(error.contains("a.npz[a]: cannot be read: Invalid checksum"), "{error}");
    }

    #[test]
    fn claims_that_the_bytes_cannot_hold_are_refused() {
        let mut member = npy::header("<f4", &[1 << 50]);
        member.extend_from_slice(&[0; 64]);
        let (_dir, path) = saved(&archive(&[("a", member)], true));
        let error = values(&path, "a").unwrap_err().to_string();
        assert!(error.contains("takes 4503599627370496 bytes but 64 follow"), "{error}");
        let (_dir, path) = saved(&archive(&[("a", b"not an array".to_vec())], true));
        assert!(values(&path, "a").unwrap_err().to_string().contains("no .npy file"));
    }
}
