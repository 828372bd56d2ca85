//! Settings that have no effect as long as another one is not set.

use toml::Value;

use super::layers::Layers;

/// Settings that depend on others.
struct Dependents {
    /// Paths, or beginnings of paths that end in a dot.
    settings: &'static [&'static str],
    /// Settings of which one has to be set.
    switches: &'static [&'static str],
    /// Beginning of a value that counts as set.
    set: &'static str,
    /// Condition, as a warning names it.
    without: &'static str,
}

const DEPENDENTS: [Dependents; 4] = [
    Dependents {
        settings: &["login."],
        switches: &["login.issuer"],
        set: "",
        without: "login.issuer",
    },
    Dependents {
        settings: &["snapshot.keep", "snapshot.keep_days", "snapshot.recipients"],
        switches: &["snapshot.target"],
        set: "",
        without: "snapshot.target",
    },
    Dependents {
        settings: &["s3."],
        switches: &["blobs", "snapshot.target"],
        set: "s3://",
        without: "a bucket (s3://…) in blobs or snapshot.target",
    },
    Dependents {
        settings: &["telemetry."],
        switches: &["telemetry.endpoint"],
        set: "",
        without: "telemetry.endpoint",
    },
];

impl Layers {
    /// Returns a warning for each setting that somebody has changed and that nothing reads.
    pub(super) fn unused(&self) -> Vec<String> {
        let off = DEPENDENTS.iter().filter(|one| !self.is_on(one));
        off.flat_map(|one| {
            let changed = self.all().filter(|(key, value, _)| {
                let is_one =
                    |name: &&str| *key == *name || name.ends_with('.') && key.starts_with(name);
                one.settings.iter().any(is_one) && !self.is_default(key, value)
            });
            changed.map(|(key, _, origin)| {
                format!("{origin}: {key} has no effect without {}", one.without)
            })
        })
        .collect()
    }

    fn is_on(&self, Dependents { switches, set, .. }: &Dependents) -> bool {
        self.all().any(|(key, value, _)| {
            let text = value.as_str().unwrap_or_default();
            switches.contains(&key) && !text.is_empty() && text.starts_with(set)
        })
    }

    fn is_default(&self, key: &str, value: &Value) -> bool {
        self.defaults.get(key) == Some(value)
    }
}
