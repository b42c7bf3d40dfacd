//! Writing files so that they have either the old or the new content and are never half-written, also when several
//! processes write them at the same time.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use drope_core::hash::{ShortHash, short_hash};
use tempfile::NamedTempFile;

/// The sentence for a path that cannot be read.
pub fn cannot_read(path: &Path) -> String {
    format!("cannot read {}; check that the path is right", path.display())
}

/// The path from the root on, whether or not there is something.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The last part of a path.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| cannot_read(path))
}

/// Adds a file's bytes to a hash, piece by piece.
pub fn hash(path: &Path, hash: &mut ShortHash) -> Result<()> {
    let cannot_read = || cannot_read(path);
    let mut file = File::open(path).with_context(cannot_read)?;
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece).with_context(cannot_read)? {
            0 => return Ok(()),
            read => hash.update(&piece[..read]),
        }
    }
}

/// The hash of a file.
pub fn file_hash(path: &Path) -> Result<String> {
    let mut hashed = ShortHash::default();
    hash(path, &mut hashed)?;
    Ok(hashed.finish())
}

/// Reads a text file.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).with_context(|| format!("{} is not a text file", path.display()))
}

/// Reads a text file. The second value is its name with a hash of its content, by which results identify the file.
pub fn read_source(path: &Path) -> Result<(String, String)> {
    let text = read_text(path)?;
    let source = format!("{} {}", name(path), short_hash(&[text.as_bytes()]));
    Ok((text, source))
}

/// Writes beside the target, then renames: after a crash or on a full disk the old file is still whole.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    stage(path, |out| out.write_all(bytes).with_context(|| cannot_write(path)))?.commit()
}

/// A file that is written beside its target as a whole, and takes its place with [`Staged::commit`].
pub struct Staged {
    file: NamedTempFile,
    path: PathBuf,
}

/// Writes a file beside its target, piece by piece.
pub fn stage(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<Staged> {
    let file = temporary_beside(path).with_context(|| cannot_write(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file.as_file());
    fill(&mut out)?;
    out.flush().with_context(|| cannot_write(path))?;
    drop(out);
    file.as_file().sync_all().with_context(|| cannot_write(path))?;
    Ok(Staged { file, path: path.to_owned() })
}

impl Staged {
    /// Renames the file.
    pub fn commit(self) -> Result<()> {
        let Self { file, path } = self;
        let commit = || -> std::io::Result<()> {
            file.persist(&path)?;
            sync_folder(folder_of(&path))
        };
        commit().with_context(|| cannot_write(&path))
    }
}

/// Context of an error.
pub fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; check free space and permissions", path.display())
}

/// Reads a text file (empty where there is none), changes it and writes it, while no other process does so.
pub fn update(path: &Path, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let _lock = lock(path)?;
    let text = if path.exists() { read_text(path)? } else { String::new() };
    write(path, change(&text)?.as_bytes())
}

/// Adds a line to a text file, after one that a crash cut off on a line of its own. The lock of `guard`, a file beside it,
/// keeps other processes from changing the lines at the same time.
pub fn append_line(path: &Path, guard: &Path, line: &str) -> Result<()> {
    let _lock = lock(guard)?;
    let append = || -> std::io::Result<()> {
        let mut file = File::options().create(true).append(true).read(true).open(path)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let separator = if last == *b"\n" { "" } else { "\n" };
        file.write_all(format!("{separator}{line}\n").as_bytes())
    };
    append().with_context(|| cannot_write(path))
}

/// Keeps the lines of a text file for which `is_kept` is true; a file without lines is removed. `guard` as in
/// [`append_line`].
pub fn retain_lines(path: &Path, guard: &Path, is_kept: impl Fn(&str) -> bool) -> Result<()> {
    let _lock = lock(guard)?;
    if !path.exists() {
        return Ok(());
    }
    let text: String = read_text(path)?.lines().filter(|line| is_kept(line)).map(|line| format!("{line}\n")).collect();
    if text.is_empty() {
        return fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()));
    }
    write(path, text.as_bytes())
}

/// Waits until no other process holds the lock of `path`. The lock is a hidden file beside it, which stays: removing it
/// would let two processes lock two files of one name.
fn lock(path: &Path) -> Result<File> {
    let lock = || -> std::io::Result<File> {
        let file = lock_file(path)?;
        file.lock()?;
        Ok(file)
    };
    lock().with_context(|| format!("cannot lock {}; check permissions", path.display()))
}

/// The lock of `path`, unless another process holds it.
pub fn try_lock(path: &Path) -> Result<Option<File>> {
    let lock = || -> std::io::Result<Option<File>> {
        let file = lock_file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    };
    lock().with_context(|| format!("cannot lock {}; check permissions", path.display()))
}

/// Gives back the lock of a path whose work is done for good, and removes its file: only where a process that locks the path anew
/// finds nothing to do.
pub fn remove_lock(path: &Path, lock: File) -> Result<()> {
    let file = lock_path(path);
    drop(lock);
    fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))
}

fn lock_path(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}.lock", name(path)))
}

fn lock_file(path: &Path) -> std::io::Result<File> {
    fs::create_dir_all(folder_of(path))?;
    File::options().create(true).append(true).open(lock_path(path))
}

/// Checks that [`write()`] will be able to write there, so that a command fails before hours of work and not after
/// them. Makes the folder.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.is_dir() {
        bail!("cannot write {}; it is a folder", path.display());
    }
    let file = temporary_beside(path);
    file.map(drop).with_context(|| cannot_write(path))
}

/// Replaces a folder as a whole; `fill` writes the new one.
pub fn replace_folder(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let old = put_in_place(folder, fill)?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

/// The same, but the folder that was there, if any, is then called `kept`.
pub fn replace_and_keep(folder: &Path, kept: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let old = put_in_place(folder, fill)?;
    if !old.exists() {
        return Ok(());
    }
    let _ = fs::remove_dir_all(kept);
    fs::rename(&old, kept).with_context(|| format!("cannot rename {}; check permissions", old.display()))
}

/// Puts a new folder in the place of another; the name that the other then has.
fn put_in_place(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let (new, old) = (with_suffix(folder, "tmp"), with_suffix(folder, "old"));
    let _ = fs::remove_dir_all(&new);
    fill(&new).inspect_err(|_| {
        let _ = fs::remove_dir_all(&new);
    })?;
    let swap = || -> std::io::Result<()> {
        if folder.exists() {
            let _ = fs::remove_dir_all(&old);
            fs::rename(folder, &old)?;
        }
        fs::rename(&new, folder)?;
        sync_folder(folder_of(folder))
    };
    swap().with_context(|| format!("cannot replace {}; check permissions", folder.display()))?;
    Ok(old)
}

/// Renames a folder or file to `NAME.old-1`, or to the next number that is free. Returns the new path, if there was one.
pub fn put_aside(folder: &Path) -> Result<Option<PathBuf>> {
    if !folder.exists() {
        return Ok(None);
    }
    let mut names = (1..).map(|number| with_suffix(folder, &format!("old-{number}")));
    let old = names.find(|name| !name.exists()).context("every name for the old folder is taken")?;
    fs::rename(folder, &old).with_context(|| format!("cannot rename {}; check permissions", folder.display()))?;
    Ok(Some(old))
}

/// The folder, or the one that [`replace_folder`] had put aside when it was cut off between its two renames.
pub fn current_folder(folder: &Path) -> PathBuf {
    let old = with_suffix(folder, "old");
    if !folder.exists() && old.exists() { old } else { folder.to_owned() }
}

/// Removes a folder that [`replace_folder`] wrote, and what a replacement that was cut off has left.
pub fn remove_replaced_folder(folder: &Path) -> Result<()> {
    let (old, tmp) = (with_suffix(folder, "old"), with_suffix(folder, "tmp"));
    let remove = || -> std::io::Result<()> {
        for folder in [&old, &tmp] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        // Renamed first: a removal that is cut off leaves no half of it under its name.
        if folder.exists() {
            fs::rename(folder, &tmp)?;
            fs::remove_dir_all(&tmp)?;
        }
        Ok(())
    };
    remove().with_context(|| format!("cannot remove {}", folder.display()))
}

/// Temporary files that may be there, for the end by a signal, which runs no destructors.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what is being written; nothing can be written from here on.
pub fn remove_temporaries() {
    let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporaries.iter() {
        // Most were renamed, or are removed already.
        let _ = fs::remove_file(path);
    }
    // The lock stays closed, so that no other thread begins a file before the process ends.
    std::mem::forget(temporaries);
}

/// An empty file in the folder of `path` with a name of its own; it is removed unless it is renamed.
fn temporary_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let mut temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    temporaries.retain(|path| path.exists());
    fs::create_dir_all(folder_of(path))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less what the umask takes away
    let file = builder.tempfile_in(folder_of(path))?;
    temporaries.push(file.path().to_owned());
    Ok(file)
}

/// Makes renames in a folder last through a power failure.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{check_writable, current_folder, replace_folder, update, write};

    #[test]
    fn threads_that_update_one_file_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for number in 0..25 {
                        check_writable(path).unwrap();
                        update(path, |text| Ok(format!("{text}{writer}-{number}\n"))).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 8 * 25);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"old").unwrap();
        assert!(update(&path, |_| anyhow::bail!("changed my mind")).is_err());
        assert!(write(&path.join("below"), b"new").is_err() && check_writable(&path.join("below")).is_err());
        assert!(check_writable(folder.path()).is_err());
        check_writable(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "file" || name == ".file.lock"), "{names:?}");
    }

    #[test]
    fn a_folder_is_there_at_every_moment_of_its_replacement() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("state");
        let fill = |number: &'static str| move |new: &std::path::Path| write(&new.join("number"), number.as_bytes());
        let number = || fs::read_to_string(current_folder(&folder).join("number")).unwrap();
        replace_folder(&folder, fill("1")).unwrap();
        assert_eq!(number(), "1");
        assert!(replace_folder(&folder, |new| fill("2")(new).and_then(|()| anyhow::bail!("disk full"))).is_err());
        assert_eq!(number(), "1");
        // The state after an interruption between the two renames: the old folder is renamed, and the new one does not
        // have its final name yet.
        fs::rename(&folder, parent.path().join("state.old")).unwrap();
        write(&parent.path().join("state.tmp/number"), b"2").unwrap();
        assert_eq!(number(), "1");
        replace_folder(&folder, fill("3")).unwrap();
        assert_eq!(number(), "3");
        assert_eq!(fs::read_dir(&parent).unwrap().count(), 1, "what was put aside is gone");
    }
}
