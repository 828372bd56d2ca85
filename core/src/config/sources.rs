//! Where settings come from, gathered before any of them is looked at.

use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::ConfigError;
use super::layers::PREFIX;

/// The variable that names the settings file.
pub(super) const FILE_VARIABLE: &str = "CHATKEEP_CONFIG";
/// The settings file that is read where none is named, if it is there.
const USUAL_FILE: &str = "chatkeep.toml";

/// A setting given by a flag.
#[derive(Clone)]
pub struct Override {
    /// The setting's path, such as `line.api_base`.
    pub key: String,
    /// Its value; may hold a password.
    pub value: String,
    /// The flag, for errors.
    pub flag: String,
}

/// Everything that settings are made from, beside the defaults.
#[derive(Clone, Default)]
pub struct Sources {
    /// The settings file's name and text.
    pub(super) file: Option<(String, String)>,
    /// Variables that begin with `CHATKEEP_`, among others.
    pub(super) environment: Vec<(String, String)>,
    /// Flags.
    pub(super) overrides: Vec<Override>,
    /// Names of files in variables are relative to this folder; empty for the working directory.
    pub(super) folder: PathBuf,
}

impl Sources {
    /// Sources given by hand: the settings file's name and text, variables and flags.
    pub fn new(
        file: Option<(String, String)>,
        environment: Vec<(String, String)>,
        overrides: Vec<Override>,
    ) -> Self {
        Self { file, environment, overrides, folder: PathBuf::new() }
    }

    /// The sources of this process: the file that `named` (`--config`) or `CHATKEEP_CONFIG` names,
    /// else `./chatkeep.toml` where there is one; its environment; and the flags given.
    ///
    /// # Errors
    /// When a file that was named cannot be read, or a variable of ours is not UTF-8.
    pub fn from_process(
        named: Option<PathBuf>,
        overrides: Vec<Override>,
    ) -> Result<Self, ConfigError> {
        // The only place in the workspace that looks at the environment.
        Self::gather(named, Path::new(""), std::env::vars_os(), overrides)
    }

    /// Like [`Sources::from_process`], for any folder and environment.
    pub(super) fn gather(
        named: Option<PathBuf>,
        folder: &Path,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        overrides: Vec<Override>,
    ) -> Result<Self, ConfigError> {
        let environment = ours(environment)?;
        let variable = environment.iter().find(|(name, _)| name == FILE_VARIABLE);
        let file = match (named, variable) {
            (Some(path), _) => Some(read(folder, &path, "")?),
            (None, Some((name, path))) => {
                Some(read(folder, Path::new(path), &format!(" (environment {name})"))?)
            }
            (None, None) => match read(folder, Path::new(USUAL_FILE), "") {
                Ok(file) => Some(file),
                Err(ConfigError::Unreadable { source, .. })
                    if source.kind() == ErrorKind::NotFound =>
                {
                    None
                }
                Err(error) => return Err(error),
            },
        };
        Ok(Self { file, environment, overrides, folder: folder.to_owned() })
    }
}

/// The variables that begin with our prefix.
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

/// A settings file's name and text.
fn read(folder: &Path, path: &Path, whence: &str) -> Result<(String, String), ConfigError> {
    let shown = path.display().to_string();
    match std::fs::read_to_string(folder.join(path)) {
        Ok(text) => Ok((shown, text)),
        Err(source) => Err(ConfigError::Unreadable { what: format!("{shown:?}{whence}"), source }),
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
    /// Names only: file, variables and flags may all hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Sources")
            .field("file", &self.file.as_ref().map(|(path, _)| path))
            .field("environment", &names)
            .field("overrides", &self.overrides)
            .finish_non_exhaustive()
    }
}
