//! Settings that the processes of a deployment have in common: those without which they would make each
//! other wrong, those of which each goes by its own, and the sentences about a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::config::{BlobsKind, Config};
use chatkeep_core::id::UserId;
use chatkeep_core::time::DAY;
use chatkeep_services::processes::MEDIA;
use chatkeep_store::NewProcess;

use super::ProcessRole;

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

/// Returns the settings that a process uses in its roles and that others with these roles should have as
/// well, by name.
pub(super) fn common_settings(
    config: &Config,
    roles: &BTreeSet<ProcessRole>,
) -> BTreeMap<String, String> {
    use ProcessRole::{Api, Ingress, Worker};
    let days = |time: Duration| format!("{} days", time.as_secs() / DAY.as_secs());
    let bots: BTreeSet<_> = config.line.iter().map(|bot| bot.name.as_str()).collect();
    let bots = bots.into_iter().collect::<Vec<_>>().join(", ");
    let (api, login, webhooks) = (&config.api, &config.login, &config.webhooks);
    let snapshot = &config.snapshot;
    let target = match &snapshot.target {
        // Each machine may have it elsewhere.
        Some(BlobsKind::Folder(_)) => "a folder".to_owned(),
        Some(bucket) => bucket.to_string(),
        None => String::new(),
    };
    let every = snapshot.every.map(|every| format!("{} hours", every.as_secs() / 3_600));
    let retries: Vec<_> = webhooks.retries.iter().map(|time| time.as_secs().to_string()).collect();
    let operators: BTreeSet<_> = config.console.operators.iter().map(UserId::as_str).collect();
    let operators = operators.into_iter().collect::<Vec<_>>().join(", ");
    let everywhere: &[ProcessRole] = &[Ingress, Api, Worker];
    let settings = [
        ("line", everywhere, bots),
        ("time_zone", &[Api, Worker], config.time_zone.name().to_owned()),
        ("api.base_url", &[Api, Worker], api.base_url.clone().unwrap_or_default()),
        ("console.operators", &[Api], operators),
        ("login.client_id", &[Api], login.client_id.clone()),
        ("login.session_days", &[Api], days(login.idle)),
        ("webhooks.retry_seconds", &[Worker], retries.join(" ")),
        ("webhooks.give_up_days", &[Worker], days(webhooks.give_up)),
        ("webhooks.tell_owners", &[Worker], webhooks.tell_owners.to_string()),
        ("media.max_attempts", &[Worker], config.media.max_attempts.to_string()),
        ("snapshot.target", &[Worker], target),
        ("snapshot.every_hours", &[Worker], every.unwrap_or_default()),
        ("snapshot.keep", &[Worker], snapshot.keep.to_string()),
        ("snapshot.keep_days", &[Worker], snapshot.keep_days.to_string()),
        ("snapshot.recipients", &[Worker], snapshot.recipients.join(" ")),
    ];
    let used = settings.into_iter().filter(|(_, by, _)| by.iter().any(|role| roles.contains(role)));
    used.map(|(name, _, value)| (name.to_owned(), value)).collect()
}

/// Settings whose values are not told: readiness can be read without a key.
const UNTOLD: [&str; 4] =
    ["console.operators", "login.client_id", "snapshot.target", "snapshot.recipients"];

/// Describes the first setting of which two processes have different values, if there is one.
pub(super) fn setting_difference(own: &NewProcess, other: &NewProcess) -> Option<String> {
    let value = |value: &str| {
        if value.is_empty() { "not set".to_owned() } else { format!("{value:?}") }
    };
    let NewProcess { host, pid, .. } = other;
    own.settings.iter().find_map(|(name, ours)| {
        let theirs = other.settings.get(name).filter(|theirs| *theirs != ours)?;
        let difference = if UNTOLD.contains(&name.as_str()) {
            "differs from that of".to_owned()
        } else {
            format!("is {} here and {} in", value(ours), value(theirs))
        };
        Some(format!(
            "the setting {name} {difference} the process {pid} on {host}: each of them goes by its own"
        ))
    })
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
    use chatkeep_core::config::Sources;

    use super::*;

    fn owned(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn process(shared: &[(&str, &str)]) -> NewProcess {
        let host = "one".to_owned();
        NewProcess { host, pid: 7, shared: owned(shared), ..NewProcess::default() }
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
    #[test]
    fn a_setting_of_which_another_process_has_another_value_is_told() {
        let with = |settings| NewProcess { settings: owned(settings), ..process(&[]) };
        let own = with(&[("api.base_url", "https://a.example"), ("time_zone", "Asia/Taipei")]);
        assert_eq!(setting_difference(&own, &own), None);
        assert_eq!(setting_difference(&own, &process(&[])), None, "of an earlier version");
        let other = with(&[("api.base_url", ""), ("snapshot.keep", "7")]);
        let text = setting_difference(&own, &other).unwrap();
        let told =
            "the setting api.base_url is \"https://a.example\" here and not set in the process 7";
        assert!(text.starts_with(told), "{text}");
    }

    #[test]
    fn a_process_compares_what_its_roles_use() {
        let names = |roles: &[ProcessRole]| {
            let config = Config::load(Sources::default()).unwrap();
            common_settings(&config, &roles.iter().copied().collect())
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&[ProcessRole::Search]), Vec::<String>::new());
        assert_eq!(names(&[ProcessRole::Ingress]), ["line"]);
        let api = names(&[ProcessRole::Api]);
        assert!(
            api.contains(&"api.base_url".to_owned()) && !api.contains(&"snapshot.keep".to_owned())
        );
        assert!(names(&[ProcessRole::Worker]).contains(&"snapshot.keep".to_owned()));
    }
}
