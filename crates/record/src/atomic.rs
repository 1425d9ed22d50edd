//! Atomic writing of files: a file gets its new contents completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the file system, or of the function that writes.
    pub source: io::Error,
}

/// Writes a file atomically: `path` has either its previous contents or everything that `write` has
/// written. The data go to a temporary file in the same directory. The temporary file is synced to
/// disk and renamed, or removed if `write` fails. A symbolic link is kept, and its target is
/// replaced. Anything that is not a regular file, such as `/dev/stdout`, is written directly.
///
/// # Errors
/// The error of `write` or of the file system, with the path.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    replace(path, write).map_err(|source| WriteError { path: path.to_owned(), source })
}

fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let (target, permissions) = match fs::metadata(path) {
        Ok(existing) if existing.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(existing) if !existing.is_file() => {
            let mut writer = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            write(&mut writer)?;
            return writer.flush();
        }
        Ok(existing) => (fs::canonicalize(path)?, Some(existing.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    let (temporary, file) = Temporary::in_directory_of(&target)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&temporary.0, &target)?;
    sync_directory(&target)
}

/// Temporary file, removed on drop unless it has been renamed.
struct Temporary(PathBuf);

impl Temporary {
    /// Creates a temporary file in the directory of `target`.
    fn in_directory_of(target: &Path) -> io::Result<(Self, File)> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        loop {
            let call = CALLS.fetch_add(1, Ordering::Relaxed);
            let mut temporary = OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{call}.tmp", std::process::id()));
            let path = target.with_file_name(temporary);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                // The file was left by a killed process that had the same process id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    // The lock shows other processes that the file is in use. A killed process
                    // holds no lock, so its file may be removed later.
                    file.try_lock().ok();
                    return Ok((Self(path), file));
                }
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // An error is ignored: a file that cannot be removed stays in the directory.
        fs::remove_file(&self.0).ok();
    }
}

/// Syncs the directory; only then is the rename on disk.
#[cfg(unix)]
fn sync_directory(file: &Path) -> io::Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_file: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Temporary directory, removed at the end of the test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("retx-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let directory = Directory::new("whole");
        let path = directory.0.join("a.txt");
        write_atomically(&path, |file| file.write_all(b"first")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");

        let result = write_atomically(&path, |file| {
            file.write_all(&[b'x'; 100_000])?;
            // The target is unchanged while the new file is being written.
            assert_eq!(fs::read(&path).unwrap(), b"first");
            Err(io::Error::other("enough"))
        });
        let expected = format!("cannot write {}: enough", path.display());
        assert_eq!(result.unwrap_err().to_string(), expected);
        assert_eq!(fs::read(&path).unwrap(), b"first");

        write_atomically(&path, |file| file.write_all(b"second")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(directory.names(), ["a.txt"]);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let directory = Directory::new("named");
        let missing = directory.0.join("no/such/place");
        let message = write_atomically(&missing, |_| Ok(())).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot write {}: ", missing.display())), "{message}");
        let message = write_atomically(&directory.0, |_| Ok(())).unwrap_err().to_string();
        assert!(message.ends_with("is a directory"), "{message}");
        assert!(directory.names().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_pipes_stay() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let directory = Directory::new("links");
        let (file, link) = (directory.0.join("file"), directory.0.join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        write_atomically(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        let pipe = directory.0.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_atomically(&pipe, |file| file.write_all(b"through")).unwrap();
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        assert_eq!(reader.join().unwrap(), b"through");
    }
}
