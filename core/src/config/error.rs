//! Errors of settings, each with its origin, its key and the allowed values.

use super::layers::variable;

/// An invalid setting. Never shows a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file, or a file that holds a secret, cannot be read.
    #[error("cannot read {what}")]
    Unreadable {
        /// Name of the file. One that a variable names is identified by the variable: the file's
        /// name may be a secret that was put there by mistake.
        what: String,
        /// Key of the secret that the file holds; `None` for a settings file.
        key: Option<String>,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A settings file is not TOML.
    #[error("{path}, line {line}: {why}")]
    Syntax {
        /// Path of the file.
        path: String,
        /// Line number, from 1.
        line: usize,
        /// Syntax error.
        why: String,
    },
    /// An unknown key.
    #[error("{origin}: unknown setting {key}{hint}")]
    Unknown {
        /// File and line, or flag.
        origin: String,
        /// The key.
        key: String,
        /// ` (did you mean …?)`, or nothing.
        hint: String,
    },
    /// A value that is not allowed.
    #[error("{origin}: {key} is {found}; allowed: {allowed}")]
    Invalid {
        /// File and line, variable, or flag.
        origin: String,
        /// The key.
        key: String,
        /// Value found, or `not acceptable` for a secret.
        found: String,
        /// Description of the allowed values.
        allowed: String,
    },
    /// A variable and its `_FILE` variant are both set.
    #[error("environment {name} and {name}_FILE are both set; set one of them")]
    Twice {
        /// Name of the variable.
        name: String,
    },
    /// In a settings file, a secret and its `_file` variant are both set.
    #[error("{origin}: {key} and {key}_file are both set; set one of them")]
    Both {
        /// File and line.
        origin: String,
        /// Key of the secret.
        key: String,
    },
    /// Settings of which not even the defaults are valid; another error says why.
    #[error("the settings cannot be read")]
    Incomplete,
    /// A variable whose value is not UTF-8. Ignoring it would silently mean the default.
    #[error("environment {name} is not UTF-8 text")]
    NotText {
        /// Name of the variable.
        name: String,
    },
}

impl ConfigError {
    /// Returns true if the value of a setting may not be the one that somebody meant, because of
    /// this error. A setting that ends in a dot is a section.
    pub fn concerns(&self, setting: &str) -> bool {
        let is_named = |text: &str| text.contains(setting) || text.contains(&variable(setting));
        match self {
            Self::Invalid { key, .. } | Self::Both { key, .. } => is_named(key),
            Self::Unknown { key, hint, .. } => is_named(key) || is_named(hint),
            Self::Unreadable { key, .. } => key.as_deref().is_none_or(is_named),
            Self::Twice { name } | Self::NotText { name } => is_named(name),
            Self::Syntax { .. } | Self::Incomplete => true,
        }
    }

    /// Returns the key of a setting that has none of the allowed values.
    pub(super) fn invalid_key(&self) -> Option<&str> {
        match self {
            Self::Invalid { key, .. } => Some(key),
            _ => None,
        }
    }
}
