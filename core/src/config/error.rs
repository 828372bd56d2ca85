//! What can be wrong with settings: always where, which key, and what is allowed.

/// A bad setting. Never shows a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A settings file, or a file that holds a secret, cannot be read.
    #[error("cannot read {what}")]
    Unreadable {
        /// Which file. One that a variable names is known by the variable: the file's name may be
        /// a secret that was put there by mistake.
        what: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A settings file is not TOML.
    #[error("{path}, line {line}: {why}")]
    Syntax {
        /// The file.
        path: String,
        /// Where in it, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A key that there is not.
    #[error("{origin}: there is no setting {key}{hint}")]
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
        /// What it is, or `not acceptable` for a secret.
        found: String,
        /// What it may be.
        allowed: String,
    },
    /// A variable and its `_FILE` are both set.
    #[error("environment {name} and {name}_FILE are both set; set one of them")]
    Twice {
        /// The variable.
        name: String,
    },
    /// In a settings file, a secret and its `_file` are both set.
    #[error("{origin}: {key} and {key}_file are both set; set one of them")]
    Both {
        /// File and line.
        origin: String,
        /// The secret.
        key: String,
    },
    /// A variable whose value is not UTF-8. Passing over it would silently mean the default.
    #[error("environment {name} is not UTF-8 text")]
    NotText {
        /// The variable.
        name: String,
    },
}
