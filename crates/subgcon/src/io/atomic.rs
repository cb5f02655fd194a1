//! A folder that appears whole or not at all.
//!
//! Files are written into a hidden folder beside the final one, made durable,
//! and the folder is renamed; where it replaces another, the two exchange their
//! names in one step. A crash, a kill or a full disk leaves at most the hidden
//! folder; the next write under the same name clears it away, unless its writer
//! still lives: it holds a lock on a file inside, from before the folder has its
//! hidden name until after it has its final one. [`PartialFile`] is the same
//! for a single file.

mod file;

pub(crate) use file::PartialFile;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

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
            Error::setting("--output", target.display(), "give a name for the folder")
        })?;
        if !replace && target.symlink_metadata().is_ok() {
            return Err(Error::Exists(target.to_path_buf()));
        }
        let parent = parent_of(target);
        check_parent(target)?;
        let prefix = format!(".{}.", name.to_string_lossy());
        remove_abandoned(parent, &prefix)?;
        // Under another name until the lock is held, so that nobody clears it away.
        let writer = writer();
        let unlocked = parent.join(format!("{prefix}{writer}.new"));
        // One of a dead process with our number holds at most an empty lock.
        if unlocked.exists() {
            fs::remove_dir_all(&unlocked).map_err(Error::io("remove", &unlocked))?;
        }
        fs::create_dir(&unlocked).map_err(Error::io("create", &unlocked))?;
        let mut partial = PartialFolder {
            target: target.to_path_buf(),
            folder: unlocked.clone(),
            lock: None,
            replace,
        };
        let path = unlocked.join(LOCK);
        let lock = File::create(&path).map_err(Error::io("create", &path))?;
        lock.lock().map_err(Error::io("lock", &path))?;
        partial.lock = Some(lock);
        let folder = parent.join(format!("{prefix}{writer}.partial"));
        fs::rename(&unlocked, &folder).map_err(Error::io("create", &folder))?;
        partial.folder = folder;
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

    /// Gives the folder its final name. Files inside are durable already.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.replace && self.target.symlink_metadata().is_ok() {
            exchange(&self.folder, &self.target)?;
            // What was there before lies under the hidden name now; dropping removes it.
        } else {
            rename_folder(&self.folder, &self.target)?;
            self.folder = PathBuf::new();
        }
        let lock = self.target.join(LOCK);
        match fs::remove_file(&lock) {
            // Another writer has replaced it, lock and all, in the meantime.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", &lock)(error))
            }
            _ => Ok(()),
        }
    }
}

/// A number of this process's own, and one for each of its writers.
fn writer() -> String {
    static WRITERS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed))
}

/// Whether a part of a name is one that [`writer`] gives.
fn is_writer(text: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.split_once('-').is_some_and(|(process, count)| number(process) && number(count))
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
    fs::rename(folder, target).map_err(|source| match source.kind() {
        std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::AlreadyExists => {
            Error::Exists(target.to_path_buf())
        }
        _ => Error::io("rename to", target)(source),
    })?;
    sync_folder(parent_of(target))
}

/// Lets two folders exchange their names, durably.
fn exchange(folder: &Path, target: &Path) -> Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    sync_folder(folder)?;
    let exchanged = renameat_with(CWD, folder, CWD, target, RenameFlags::EXCHANGE);
    if exchanged.is_err() {
        // Not every file system can: by way of a third name then, and back on failure.
        let aside = folder.with_extension("old");
        fs::rename(target, &aside).map_err(Error::io("replace", target))?;
        if let Err(source) = fs::rename(folder, target) {
            fs::rename(&aside, target).map_err(Error::io("put back", target))?;
            return Err(Error::io("replace", target)(source));
        }
        fs::rename(&aside, folder).map_err(Error::io("remove", &aside))?;
    }
    sync_folder(parent_of(target))
}

/// Whether there is a folder to write `target` into: said before hours of work, and with
/// a remedy, which "no such file" lacks.
pub(crate) fn check_parent(target: &Path) -> Result<()> {
    let parent = parent_of(target);
    let found = fs::metadata(parent).and_then(|found| match found.is_dir() {
        true => Ok(()),
        false => Err(std::io::ErrorKind::NotADirectory.into()),
    });
    found.map_err(Error::io("write into it (make this folder first, or choose another)", parent))
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Makes renames and new files inside a folder durable.
fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(Error::io("sync", folder))
}

/// Clears away what writers that died have left, and puts back what one of them
/// had moved aside.
fn remove_abandoned(parent: &Path, prefix: &str) -> Result<()> {
    let entries = fs::read_dir(parent).map_err(Error::io("open", parent))?;
    for entry in entries {
        let path = entry.map_err(Error::io("list", parent))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(prefix) else { continue };
        let Some((writer, kind)) = rest.split_once('.') else { continue };
        if !is_writer(writer) {
            continue;
        }
        let partial = parent.join(format!("{prefix}{writer}.partial"));
        if !matches!(kind, "partial" | "old") || is_alive(&partial) {
            continue;
        }
        // `.NAME.` without its dots is the name that the old folder had.
        let target = parent.join(&prefix[1..prefix.len() - 1]);
        if kind == "old" && target.symlink_metadata().is_err() {
            fs::rename(&path, &target).map_err(Error::io("put back", &target))?;
            continue;
        }
        match fs::remove_dir_all(&path) {
            // Somebody else cleared it away at the same time.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            removed => removed.map_err(Error::io("remove", &path))?,
        }
    }
    Ok(())
}

/// Whether the writer of a hidden folder still holds its lock.
fn is_alive(folder: &Path) -> bool {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => matches!(lock.try_lock(), Err(TryLockError::WouldBlock)),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::testing::names;

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
    fn many_writers_of_one_name_leave_one_whole_folder() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.graph");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("x"), "0").unwrap();
        // They take turns with the cleaning.
        for round in 0..50 {
            let partial = PartialFolder::create(&target, true).unwrap();
            fs::write(partial.path("x"), round.to_string()).unwrap();
            let prefix = ".a.graph.";
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| remove_abandoned(root.path(), prefix).unwrap());
                }
                scope.spawn(|| partial.finish().unwrap());
            });
            assert_eq!(fs::read_to_string(target.join("x")).unwrap(), round.to_string());
        }
        assert_eq!(names(root.path()), ["a.graph"]);
        assert_eq!(names(&target), ["x"]);
    }

    #[test]
    fn writers_of_one_process_do_not_share_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a.graph");
        // As after Ctrl-C in Python: the first still writes when the second begins.
        let first = PartialFolder::create(&target, true).unwrap();
        fs::write(first.path("x"), "first").unwrap();
        let second = PartialFolder::create(&target, true).unwrap();
        fs::write(second.path("x"), "second").unwrap();
        drop(first);
        second.finish().unwrap();
        assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "second");
        assert_eq!(names(root.path()), ["a.graph"]);
    }

    #[test]
    fn what_a_dead_writer_left_is_cleared_and_a_living_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let dead = root.path().join(".a.graph.1-0.partial");
        let living = root.path().join(".a.graph.2-13.partial");
        let foreign = root.path().join(".a.graph.mine.partial");
        let dated = root.path().join(".a.graph.2024-01-01.old");
        for folder in [&dead, &living, &foreign, &dated] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(LOCK), "").unwrap();
        }
        let lock = File::open(living.join(LOCK)).unwrap();
        lock.lock().unwrap();
        drop(PartialFolder::create(&root.path().join("a.graph"), false).unwrap());
        assert!(!dead.exists() && living.exists() && foreign.exists() && dated.exists());
    }

    #[test]
    fn what_was_moved_aside_is_put_back_or_cleared() {
        let root = tempfile::tempdir().unwrap();
        let (target, old) = (root.path().join("a.graph"), root.path().join(".a.graph.1-0.old"));
        fs::create_dir(&old).unwrap();
        fs::write(old.join("x"), "old").unwrap();
        remove_abandoned(root.path(), ".a.graph.").unwrap();
        assert_eq!(fs::read_to_string(target.join("x")).unwrap(), "old");
        fs::create_dir(&old).unwrap();
        remove_abandoned(root.path(), ".a.graph.").unwrap();
        assert_eq!(names(root.path()), ["a.graph"]);
    }

    #[test]
    fn a_missing_parent_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = PartialFolder::create(&root.path().join("no/a.graph"), false).unwrap_err();
        let told = error.to_string();
        assert!(told.contains("no: cannot write into it (make this folder first"), "{told}");
        assert!(told.contains("No such file"), "{told}");
    }
}
