//! Helpers shared by the tests of settings.

mod defaults;
mod errors;
mod forms;
mod hints;
mod inspect;
mod line;
mod round_trip;
mod secrets;
mod sources;
mod values;

use super::{Config, ConfigError, Override, Sources};

fn sources(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Sources {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let flag = |(key, value): &(&str, &str)| Override {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        flag: format!("--{key}"),
    };
    Sources::new(
        Some(("my.toml".to_owned(), file.to_owned())),
        environment.iter().map(owned).collect(),
        flags.iter().map(flag).collect(),
    )
}

fn load(file: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(sources(file, environment, &[]))
}

/// Returns an error with its causes, as the program shows it.
fn error(file: &str, environment: &[(&str, &str)]) -> String {
    told(&load(file, environment).unwrap_err())
}

fn told(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", told(cause)));
    format!("{error}{}", cause.unwrap_or_default())
}
