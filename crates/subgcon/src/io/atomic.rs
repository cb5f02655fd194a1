//! A folder that appears whole or not at all.
//!
//! Files are written into a hidden folder beside the final one, made durable,
//! and the folder is renamed. A crash, a kill or a full disk leaves at most the
//! hidden folder; the next write under the same name clears it away, unless its
//! writer still lives (it holds a lock on a file inside).

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const LOCK: &str = "writing.lock";

/// A folder in the making. Dropped unfinished, it is removed.
#[derive(Debug)]
pub(crate) struct PartialFolder {
    target: PathBuf,
    folder: PathBuf,
    lock: Option<File>,
    replace: bool,
}

impl PartialFolder {
    /// Begins to write what will be `target`. Unless it may `replace` it,
    /// anything already there is an error now, before hours of work.
    pub(crate) fn create(target: &Path, replace: bool) -> Result<PartialFolder> {
        let name = target.file_name().ok_or_else(|| {
            Error::setting(
                "--output",
                target.display(),
                "give a name for the folder, not a path that ends in ..",
            )
        })?;
        if !replace && target.symlink_metadata().is_ok() {
            return Err(Error::Exists(target.to_path_buf()));
        }
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let prefix = format!(".{}.", name.to_string_lossy());
        remove_abandoned(parent, &prefix)?;
        let folder = parent.join(format!("{prefix}{}.partial", std::process::id()));
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        let mut partial =
            PartialFolder { target: target.to_path_buf(), folder, lock: None, replace };
        let path = partial.path(LOCK);
        let lock = File::create(&path).map_err(Error::io("create", &path))?;
        lock.lock().map_err(Error::io("lock", &path))?;
        partial.lock = Some(lock);
        Ok(partial)
    }

    /// A file inside.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where it will be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Renames the folder to its final name. Files inside are durable already.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.lock = None;
        let lock = self.path(LOCK);
        fs::remove_file(&lock).map_err(Error::io("remove", &lock))?;
        let old = self.folder.with_extension("old");
        if self.target.symlink_metadata().is_ok() {
            if !self.replace {
                return Err(Error::Exists(self.target.clone()));
            }
            fs::rename(&self.target, &old).map_err(Error::io("replace", &self.target))?;
        }
        rename_folder(&self.folder, &self.target)?;
        self.folder = PathBuf::new();
        if old.is_dir() {
            fs::remove_dir_all(&old).map_err(Error::io("remove", &old))?;
        } else if old.exists() {
            fs::remove_file(&old).map_err(Error::io("remove", &old))?;
        }
        Ok(())
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        self.lock = None;
        if self.folder != Path::new("") {
            // Nothing is lost if this fails: the next write tries again.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Gives a folder whose files are durable its final name, durably.
pub(crate) fn rename_folder(folder: &Path, target: &Path) -> Result<()> {
    sync_folder(folder)?;
    fs::rename(folder, target).map_err(Error::io("rename to", target))?;
    match target.parent() {
        Some(parent) if parent != Path::new("") => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}

/// Makes renames and new files inside a folder durable.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("sync", folder))
}

/// Removes the folders of writers that died.
fn remove_abandoned(parent: &Path, prefix: &str) -> Result<()> {
    let entries = fs::read_dir(parent).map_err(Error::io("open", parent))?;
    for entry in entries {
        let path = entry.map_err(Error::io("list", parent))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let middle = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".partial"));
        if !middle.is_some_and(|process| process.bytes().all(|b| b.is_ascii_digit())) {
            continue;
        }
        let alive = match File::open(path.join(LOCK)) {
            Ok(lock) => matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        };
        if !alive {
            fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_only_when_finished() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.graph");
        let partial = PartialFolder::create(&target, false).unwrap();
        fs::write(partial.path("x"), "1").unwrap();
        assert!(!target.exists());
        partial.finish().unwrap();
        assert_eq!(names(root.path()), ["a.graph"]);
        assert_eq!(names(&target), ["x"]);
        assert!(matches!(PartialFolder::create(&target, false), Err(Error::Exists(_))));
    }

    #[test]
    fn an_unfinished_folder_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let partial = PartialFolder::create(&root.path().join("a.graph"), false).unwrap();
        fs::write(partial.path("x"), "1").unwrap();
        drop(partial);
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn replacing_keeps_the_old_one_until_the_end() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.graph");
        for content in ["old", "new"] {
            let partial = PartialFolder::create(&target, true).unwrap();
            fs::write(partial.path("x"), content).unwrap();
            if content == "new" {
                assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "old");
            }
            partial.finish().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "new");
        assert_eq!(names(root.path()), ["a.graph"]);
    }

    #[test]
    fn what_a_dead_writer_left_is_cleared_and_a_living_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join(".a.graph.1.partial");
        let living = root.path().join(".a.graph.2.partial");
        let foreign = root.path().join(".a.graph.mine.partial");
        for folder in [&dead, &living, &foreign] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(LOCK), "").unwrap();
        }
        let lock = File::open(living.join(LOCK)).unwrap();
        lock.lock().unwrap();
        drop(PartialFolder::create(&root.path().join("a.graph"), false).unwrap());
        assert!(!dead.exists() && living.exists() && foreign.exists());
    }

    #[test]
    fn a_missing_parent_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = PartialFolder::create(&root.path().join("no/a.graph"), false).unwrap_err();
        assert!(error.to_string().contains("no: cannot open"), "{error}");
    }
}
