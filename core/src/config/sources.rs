//! Sources of settings, gathered before any of them is interpreted.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::ConfigError;
use super::layers::PREFIX;

/// Environment variable that names the settings file.
pub(super) const FILE_VARIABLE: &str = "CHATKEEP_CONFIG";
/// Settings file that is read by default, if it exists.
const USUAL_FILE: &str = "chatkeep.toml";
/// Settings file of the service that a package installed, read where the usual one does not exist.
const SYSTEM_FILE: &str = "/etc/chatkeep/chatkeep.toml";

/// Hint of the error when that file cannot be read.
const AS_ITS_USER: &str = " (the installed service's settings; its commands run as its user: sudo -u chatkeep chatkeep …)";

/// Settings files that are looked for when none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsualFiles {
    /// `./chatkeep.toml`, else `/etc/chatkeep/chatkeep.toml`: for the service and for commands on its
    /// data.
    FolderAndSystem,
    /// `./chatkeep.toml` alone: for what must not touch the data of an installed service.
    Folder,
}

/// A setting overridden by a flag.
#[derive(Clone)]
pub struct Override {
    /// Path of the setting, such as `line.api_base`.
    pub key: String,
    /// Value; may hold a password.
    pub value: String,
    /// Name of the flag, for errors.
    pub flag: String,
}

/// Sources of the settings, beside the defaults.
#[derive(Clone, Default)]
pub struct Sources {
    /// Name and text of the settings file.
    pub(super) file: Option<(String, String)>,
    /// Environment variables, those that begin with `CHATKEEP_` among others.
    pub(super) environment: Vec<(String, String)>,
    /// Settings overridden by flags.
    pub(super) overrides: Vec<Override>,
    /// Folder that file names in variables are relative to; empty for the working directory.
    pub(super) folder: PathBuf,
}

impl Sources {
    /// Creates sources from the settings file's name and text, variables and flags.
    pub fn new(
        file: Option<(String, String)>,
        environment: Vec<(String, String)>,
        overrides: Vec<Override>,
    ) -> Self {
        Self { file, environment, overrides, folder: PathBuf::new() }
    }

    /// Gathers the sources of this process: the file that `named` (`--config`) or `CHATKEEP_CONFIG`
    /// names, else the first of the usual files that exists (none if `CHATKEEP_CONFIG` is empty); its
    /// environment; and the flags given. A usual file counts as not there when this process may not
    /// enter the working directory.
    ///
    /// # Errors
    /// Fails when a file that was named, or that exists, cannot be read, or a variable of chatkeep is
    /// not UTF-8.
    pub fn from_process(
        named: Option<PathBuf>,
        overrides: Vec<Override>,
        usual: UsualFiles,
    ) -> Result<Self, ConfigError> {
        let files: &[&str] = match usual {
            UsualFiles::FolderAndSystem => &[USUAL_FILE, SYSTEM_FILE],
            UsualFiles::Folder => &[USUAL_FILE],
        };
        // The only place in the workspace that reads the environment.
        Self::gather(named, Path::new(""), files, std::env::vars_os(), overrides)
    }

    /// Does the same as [`Sources::from_process`], for any folder and environment.
    pub(super) fn gather(
        named: Option<PathBuf>,
        folder: &Path,
        usual: &[&str],
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        overrides: Vec<Override>,
    ) -> Result<Self, ConfigError> {
        let environment = ours(environment)?;
        let variable = environment.iter().find(|(name, _)| name == FILE_VARIABLE);
        let file = match (named, variable) {
            (Some(path), _) => Some(read(folder, &path, "")?),
            (None, Some((_, path))) if path.is_empty() => None,
            (None, Some((name, path))) => {
                Some(read(folder, Path::new(path), &format!(" (environment {name})"))?)
            }
            (None, None) => first(folder, usual)?,
        };
        Ok(Self { file, environment, overrides, folder: folder.to_owned() })
    }
}

/// Returns the variables that begin with the prefix.
fn ours(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, ConfigError> {
    environment
        .into_iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| name.starts_with(PREFIX))
        .map(|(name, value)| match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(_) => Err(ConfigError::NotText { name }),
        })
        .collect()
}

/// Reads the first of these files that exists, if any.
fn first(folder: &Path, files: &[&str]) -> Result<Option<(String, String)>, ConfigError> {
    for file in files {
        let hint = if *file == SYSTEM_FILE { AS_ITS_USER } else { "" };
        let path = Path::new(file);
        match read(folder, path, hint) {
            Err(ConfigError::Unreadable { source, .. })
                if is_absent(path, &source, || enter(folder)) => {}
            read => return read.map(Some),
        }
    }
    Ok(None)
}

/// Returns whether a usual file that cannot be read counts as not there. A command that `sudo -u` runs
/// from a folder of somebody else's may not look into that folder, and nothing in it is meant for it.
fn is_absent(path: &Path, error: &io::Error, enter: impl Fn() -> io::Result<()>) -> bool {
    let is_denied = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
    error.kind() == ErrorKind::NotFound
        || path.is_relative() && is_denied(error) && enter().is_err_and(|error| is_denied(&error))
}

/// Fails when names in a folder cannot be looked up, whatever the permissions of the files are.
fn enter(folder: &Path) -> io::Result<()> {
    std::fs::metadata(folder.join(".")).map(drop)
}

/// Reads a settings file; returns its name and text.
fn read(folder: &Path, path: &Path, whence: &str) -> Result<(String, String), ConfigError> {
    let shown = path.display().to_string();
    match std::fs::read_to_string(folder.join(path)) {
        Ok(text) => Ok((shown, text)),
        Err(source) => {
            let what = format!("{shown:?}{whence}");
            Err(ConfigError::Unreadable { what, key: None, source })
        }
    }
}

impl fmt::Debug for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Override")
            .field("key", &self.key)
            .field("flag", &self.flag)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Sources {
    /// Shows names only: file, variables and flags may all hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Sources")
            .field("file", &self.file.as_ref().map(|(path, _)| path))
            .field("environment", &names)
            .field("overrides", &self.overrides)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_file_is_absent_where_its_folder_is_closed() {
        let denied = || io::Error::from(ErrorKind::PermissionDenied);
        let here = Path::new(USUAL_FILE);
        assert!(is_absent(here, &ErrorKind::NotFound.into(), || Ok(())));
        assert!(is_absent(here, &denied(), || Err(denied())), "the folder is closed");
        assert!(!is_absent(here, &denied(), || Ok(())), "the file is closed");
        assert!(!is_absent(here, &ErrorKind::InvalidData.into(), || Err(denied())));
        assert!(
            !is_absent(Path::new(SYSTEM_FILE), &denied(), || Err(denied())),
            "not in that folder"
        );
    }

    #[test]
    fn a_folder_is_entered_if_it_is_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(enter(folder.path()).is_ok() && enter(Path::new("")).is_ok());
        assert!(enter(&folder.path().join("none")).is_err());
    }
}
