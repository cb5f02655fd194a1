//! A file that appears whole or not at all.
//!
//! It is written under a hidden name beside its final one, made durable and
//! renamed. A crash, a kill or a full disk leaves what was there before; the
//! next write under the same name clears away a hidden file whose writer no
//! longer holds its lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{check_parent, is_writer, parent_of, sync_folder, writer};
use crate::error::{Error, Result};

/// A file in the making. Dropped unfinished, it is removed.
#[derive(Debug)]
pub(crate) struct PartialFile {
    target: PathBuf,
    /// Its name so far; empty once it has its final one.
    hidden: PathBuf,
    file: BufWriter<File>,
    replace: bool,
}

impl PartialFile {
    /// Begins to write what will be `target`. Unless it may `replace` it,
    /// anything already there is an error now, before hours of work. A link is
    /// replaced itself, not what it points to.
    pub(crate) fn create(target: &Path, replace: bool) -> Result<PartialFile> {
        let no_file =
            || Error::setting("--output", target.display(), "give a name for the file, no folder");
        let name = target.file_name().ok_or_else(no_file)?;
        match target.symlink_metadata() {
            Ok(_) if !replace => return Err(Error::Exists(target.to_path_buf())),
            // Renaming over a device would remove the device.
            Ok(there) if !there.is_file() && !there.is_symlink() => return Err(no_file()),
            _ => {}
        }
        let parent = parent_of(target);
        check_parent(target)?;
        let prefix = format!(".{}.", name.to_string_lossy());
        remove_abandoned(parent, &prefix)?;
        let own = format!("{prefix}{}", writer());
        // Under another name until the lock is held, so that nobody clears it away.
        let unlocked = parent.join(format!("{own}.new"));
        let file = File::create(&unlocked).map_err(Error::io("create", target))?;
        let mut partial = PartialFile {
            target: target.to_path_buf(),
            hidden: unlocked,
            file: BufWriter::with_capacity(1 << 20, file),
            replace,
        };
        partial.file.get_ref().lock().map_err(Error::io("lock", target))?;
        let hidden = parent.join(format!("{own}.partial"));
        fs::rename(&partial.hidden, &hidden).map_err(Error::io("create", target))?;
        partial.hidden = hidden;
        Ok(partial)
    }

    /// Writes, with an error that names the final file.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io("write", &self.target))
    }

    /// Makes durable what was written; nothing may be written after.
    pub(crate) fn seal(&mut self) -> Result<()> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(Error::io("write", &self.target))
    }

    /// Gives a sealed file its final name, durably.
    pub(crate) fn publish(mut self) -> Result<()> {
        let plain = || fs::rename(&self.hidden, &self.target);
        let renamed = match self.replace {
            true => plain(),
            // Somebody may have come first while this one was written.
            false => {
                match renameat_with(CWD, &self.hidden, CWD, &self.target, RenameFlags::NOREPLACE) {
                    Err(Errno::EXIST) => return Err(Error::Exists(self.target.clone())),
                    // Not every file system can.
                    Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => plain(),
                    other => other.map_err(io::Error::from),
                }
            }
        };
        renamed.map_err(Error::io("rename to", &self.target))?;
        self.hidden = PathBuf::new();
        sync_folder(parent_of(&self.target))
    }

    /// Makes it durable under its final name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.seal()?;
        self.publish()
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.hidden != Path::new("") {
            // Nothing is lost if this fails: the next write tries again.
            let _ = fs::remove_file(&self.hidden);
        }
    }
}

/// Clears away the files of writers that died.
fn remove_abandoned(parent: &Path, prefix: &str) -> Result<()> {
    for entry in fs::read_dir(parent).map_err(Error::io("open", parent))? {
        let path = entry.map_err(Error::io("list", parent))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ours = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".partial"));
        if !ours.is_some_and(is_writer) || !path.is_file() {
            continue;
        }
        // What cannot be opened is somebody else's.
        let Ok(file) = File::open(&path) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            continue;
        }
        match fs::remove_file(&path) {
            // It has got its final name, or was cleared away, in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(Error::io("remove", &path))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::names;

    fn write(target: &Path, text: &str, replace: bool) -> Result<()> {
        let mut file = PartialFile::create(target, replace)?;
        file.put(text.as_bytes())?;
        file.finish()
    }

    #[test]
    fn a_file_appears_only_when_finished() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.npy");
        let mut file = PartialFile::create(&target, false).unwrap();
        file.put(b"new").unwrap();
        assert!(!target.exists());
        file.finish().unwrap();
        assert_eq!(names(root.path()), ["a.npy"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(matches!(write(&target, "again", false), Err(Error::Exists(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn an_unfinished_file_leaves_what_was_there() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.npy");
        fs::write(&target, "old").unwrap();
        let mut file = PartialFile::create(&target, true).unwrap();
        file.put(&[7; 1 << 21]).unwrap();
        drop(file);
        assert_eq!(names(root.path()), ["a.npy"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        write(&target, "new", true).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn a_file_that_came_first_is_not_replaced_unasked() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.npy");
        let file = PartialFile::create(&target, false).unwrap();
        fs::write(&target, "first").unwrap();
        assert!(matches!(file.finish(), Err(Error::Exists(_))));
        assert_eq!(names(root.path()), ["a.npy"]);
        assert_eq!(fs::read_to_string(&target).unwrap(), "first");
    }

    #[test]
    fn what_a_dead_writer_left_is_cleared_and_a_living_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.npy");
        for name in [".a.npy.1-0.partial", ".a.npy.mine.partial", ".b.npy.1-0.partial"] {
            fs::write(root.path().join(name), "").unwrap();
        }
        let living = PartialFile::create(&target, false).unwrap();
        write(&target, "x", false).unwrap();
        let left = names(root.path());
        assert_eq!(left.len(), 4, "{left:?}");
        assert!(!left.contains(&".a.npy.1-0.partial".to_owned()));
        drop(living);
        assert_eq!(names(root.path()), [".a.npy.mine.partial", ".b.npy.1-0.partial", "a.npy"],);
    }

    #[test]
    fn folders_devices_and_missing_places_are_refused() {
        let root = tempfile::tempdir().unwrap();
        for place in [root.path(), Path::new("/dev/null"), Path::new("..")] {
            let error = PartialFile::create(place, true).unwrap_err().to_string();
            assert!(error.contains("give a name for the file"), "{error}");
        }
        let error = PartialFile::create(&root.path().join("no/a.npy"), true).unwrap_err();
        assert!(error.to_string().contains("no: cannot write into it (make"), "{error}");
    }
}
