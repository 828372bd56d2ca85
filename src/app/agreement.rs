//! Shared settings: those that the processes of a deployment have to agree on, and the sentence about
//! a difference.

use std::collections::BTreeMap;
use std::time::Duration;

use chatkeep_core::config::Config;
use chatkeep_core::time::DAY;
use chatkeep_services::processes::MEDIA;
use chatkeep_store::NewProcess;

/// Name of the bus among what is shared.
pub(super) const BUS: &str = "the bus";

/// Returns the settings that decide about data shared by all processes, by name.
pub(super) fn shared_settings(config: &Config) -> BTreeMap<String, String> {
    let days = |time: Option<Duration>| {
        time.map_or_else(
            || "never".to_owned(),
            |time| format!("{} days", time.as_secs() / DAY.as_secs()),
        )
    };
    let settings = [
        ("retention.unsubscribed_days", days(config.retention.unsubscribed)),
        ("retention.other_events_days", days(config.retention.other_events)),
        ("api.keep_events_days", days(Some(config.api.keep_events))),
        ("webhooks.keep_days", days(Some(config.webhooks.keep))),
        ("usage.tell_users", config.usage.tell_users.to_string()),
        ("workers.lease_seconds", config.workers.lease.as_secs().to_string()),
        ("media.max_bytes", config.media.max_bytes.to_string()),
        ("login.issuer", config.login.issuer.clone().unwrap_or_default()),
        ("login.user_prefix", config.login.user_prefix.clone()),
        ("bus_limits.max_backlog", config.bus_limits.max_backlog.to_string()),
        ("bus_limits.replicas", config.bus_limits.replicas.to_string()),
        ("bus_limits.dedupe_window_seconds", config.bus_limits.dedupe_window.as_secs().to_string()),
    ];
    settings.into_iter().map(|(name, value)| (format!("the setting {name}"), value)).collect()
}

/// Describes the difference between two processes in one sentence.
pub(super) fn difference(own: &NewProcess, other: &NewProcess) -> String {
    let NewProcess { host, pid, .. } = other;
    let differing = own.shared.iter().find_map(|(name, value)| {
        let theirs = other.shared.get(name)?;
        (theirs != value).then(|| match name.as_str() {
            // Identities have no meaning for a reader.
            BUS => format!("{name} differs from that of"),
            MEDIA => format!(
                "{name} (one folder shared by all processes, or one bucket) differs from that of"
            ),
            _ => format!("{name} is {value:?} here and {theirs:?} in"),
        })
    });
    let differing = differing.unwrap_or_else(|| "this process differs from".to_owned());
    format!(
        "{differing} the process {pid} on {host}, which uses the same database: they would make \
         each other wrong"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(shared: &[(&str, &str)]) -> NewProcess {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        NewProcess {
            id: "1-a".to_owned(),
            host: "one".to_owned(),
            pid: 7,
            version: "0".to_owned(),
            roles: Vec::new(),
            stages: Vec::new(),
            shared: shared.iter().map(owned).collect(),
        }
    }

    #[test]
    fn a_difference_is_told_with_its_place() {
        let own = process(&[(BUS, "a"), ("the setting media.max_bytes", "5")]);
        let text = difference(&own, &process(&[(BUS, "b")]));
        assert!(text.starts_with("the bus differs from that of the process 7 on one"));
        let other = process(&[(BUS, "a"), ("the setting media.max_bytes", "6")]);
        let text = difference(&own, &other);
        assert!(
            text.starts_with("the setting media.max_bytes is \"5\" here and \"6\" in"),
            "{text}"
        );
    }
}
