//! Preflight check: are the settings sufficient for the roles of a process, and safe?

use chatkeep_core::config::{BlobsKind, BusKind, Config};
use chatkeep_services::snapshots::SnapshotService;
use chatkeep_store::check_address;
use url::{Host, Url};

use super::{ProcessRole, ProcessRoles};

/// Missing setting that a role of the process needs. Ends the process with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PreflightError(pub String);

/// Checks the settings that the roles need, and names everything that is wrong at once.
pub(super) fn preflight_check(
    config: &Config,
    process_roles: &ProcessRoles,
) -> Result<(), PreflightError> {
    match &*preflight_problems(config, process_roles) {
        [] => Ok(()),
        problems => Err(PreflightError(problems.join("\n"))),
    }
}

/// Check of a combination of settings: returns what is wrong for a process with these roles.
type Check = fn(&Config, &dyn Fn(ProcessRole) -> bool) -> Option<String>;

/// Every check, with the settings that it reads; one that ends in a dot is a section.
const CHECKS: [(&[&str], Check); 7] = [
    (&["line."], missing_secrets),
    (&["listen", "api.base_url", "api.proxies"], unsafe_listen),
    (&["listen", "metrics.listen"], shared_listen),
    (&["database"], wrong_database),
    (&["bus"], split_bus),
    (&["snapshot.every_hours", "snapshot.target"], placeless_snapshots),
    (&["snapshot.recipients", "snapshot.target", "blobs", "data", "s3."], wrong_snapshots),
];

/// Returns what hinders a process with these roles from starting.
fn preflight_problems(config: &Config, process_roles: &ProcessRoles) -> Vec<String> {
    known_problems(config, process_roles, |_| false)
}

/// Returns the same as far as it is known: without combinations with a setting that is in doubt,
/// because what somebody gave is wrong.
pub(crate) fn known_problems(
    config: &Config,
    process_roles: &ProcessRoles,
    is_in_doubt: impl Fn(&str) -> bool,
) -> Vec<String> {
    let has = |role| process_roles.roles.contains(&role);
    let known = CHECKS.iter().filter(|(settings, _)| !settings.iter().any(|one| is_in_doubt(one)));
    known.filter_map(|(_, check)| check(config, &has)).collect()
}

/// Names an address that the client of the database refuses.
fn wrong_database(config: &Config, _has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    check_address(&config.database).err().map(|error| format!("CHATKEEP_DATABASE: {error}"))
}

/// Names an embedded bus that one process would fill and another one read.
fn split_bus(config: &Config, has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    let is_split = matches!(config.bus, BusKind::Embedded)
        && has(ProcessRole::Ingress) != has(ProcessRole::Worker);
    is_split.then(|| {
        "the embedded bus works within one process: run ingress and worker together (--roles), or \
         set CHATKEEP_BUS to nats://…"
            .to_owned()
    })
}

/// Names a schedule of snapshots without a target.
fn placeless_snapshots(config: &Config, has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    let is_placeless = config.snapshot.every.is_some() && config.snapshot.target.is_none();
    (is_placeless && has(ProcessRole::Worker)).then(|| {
        "CHATKEEP_SNAPSHOT_EVERY_HOURS needs a target: set CHATKEEP_SNAPSHOT_TARGET".to_owned()
    })
}

/// Names settings of snapshots that cannot work, or would remove files of messages.
fn wrong_snapshots(config: &Config, _has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    SnapshotService::check_settings(config).err().map(|error| error.to_string())
}

/// Names an address on which two servers of the process would listen.
fn shared_listen(config: &Config, _has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    let (listen, metrics) = (config.listen, config.metrics.listen?);
    let is_one = listen.ip() == metrics.ip()
        || listen.ip().is_unspecified()
        || metrics.ip().is_unspecified();
    (listen.port() != 0 && listen.port() == metrics.port() && is_one).then(|| {
        format!(
            "CHATKEEP_LISTEN is {listen} and CHATKEEP_METRICS_LISTEN {metrics}: give them different \
             ports"
        )
    })
}

/// Names an address that others can reach without the one by which they do: links and sign-in would
/// lead nowhere, and nothing says that TLS is in front.
fn unsafe_listen(config: &Config, has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    let is_local = config.listen.ip().to_canonical().is_loopback();
    let serves = has(ProcessRole::Ingress) || has(ProcessRole::Api);
    if is_local || !serves || config.api.base_url.is_some() || config.api.proxies > 0 {
        return None;
    }
    let listen = config.listen;
    Some(format!(
        "CHATKEEP_LISTEN is {listen}, which others than this machine can reach: set \
         CHATKEEP_API_BASE_URL to the public https address, or CHATKEEP_API_PROXIES to the number \
         of proxies in front (with TLS), or listen on 127.0.0.1"
    ))
}

/// Returns a warning about a place for snapshots in which none is made by itself.
pub(crate) fn snapshot_warning(config: &Config, process_roles: &ProcessRoles) -> Option<String> {
    let snapshot = &config.snapshot;
    let is_unscheduled = snapshot.target.is_some() && snapshot.every.is_none();
    (is_unscheduled && process_roles.roles.contains(&ProcessRole::Worker)).then(|| {
        "snapshot.target has no schedule, so that no snapshot is made by itself: set \
         snapshot.every_hours, such as 24"
            .to_owned()
    })
}

/// Returns a warning for each address that is not safe, or does not work for everything.
pub(crate) fn address_warnings(config: &Config) -> Vec<String> {
    plain_http(config).into_iter().chain(below_a_path(config)).collect()
}

/// Names a public address with a path: links in pages and cookies begin at the root of the host.
fn below_a_path(config: &Config) -> Option<String> {
    let url = Url::parse(config.api.base_url.as_deref()?).ok()?;
    let path = url.path().trim_end_matches('/');
    (!path.is_empty()).then(|| {
        format!(
            "api.base_url has the path {path}: the console and sign-in work at the root of a host \
             only, so give chatkeep a host of its own"
        )
    })
}

/// Returns a warning for each address of another machine that is called, or reached by people, over
/// plain http.
fn plain_http(config: &Config) -> Vec<String> {
    let api = &config.api.base_url;
    let mut addresses = vec![
        ("api.base_url", api.as_deref(), "sessions and messages"),
        ("login.issuer", config.login.issuer.as_deref(), "sign-ins"),
        ("telemetry.endpoint", config.telemetry.endpoint.as_deref(), "traces"),
    ];
    if matches!(config.blobs, BlobsKind::S3 { .. }) {
        addresses.push(("s3.endpoint", config.s3.endpoint.as_deref(), "media files"));
    }
    for bot in &config.line {
        addresses.push(("line.api_base", Some(&bot.api_base), "access token and replies"));
        addresses.push(("line.data_api_base", Some(&bot.data_api_base), "access token and files"));
    }
    let plain = addresses.into_iter().filter(|(_, address, _)| address.is_some_and(is_plain));
    plain
        .map(|(setting, _, what)| format!("{setting} is plain http: {what} travel unencrypted"))
        .collect()
}

/// Returns true for an http address of another machine.
fn is_plain(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !is_local
}

/// Names all missing secrets at once, so that nobody has to start the program once for each.
fn missing_secrets(config: &Config, has: &dyn Fn(ProcessRole) -> bool) -> Option<String> {
    let mut missing = Vec::new();
    for bot in &config.line {
        if has(ProcessRole::Ingress) && bot.channel_secret.is_none() {
            missing.push((
                &bot.channel_secret_variable,
                "channel secret",
                bot,
                ProcessRole::Ingress,
            ));
        }
        if has(ProcessRole::Worker) && bot.access_token.is_none() {
            missing.push((
                &bot.access_token_variable,
                "channel access token",
                bot,
                ProcessRole::Worker,
            ));
        }
    }
    if missing.is_empty() {
        return None;
    }
    let lines = missing.iter().map(|(variable, what, bot, role)| {
        let (bot, role) = (&bot.name, role.name());
        format!("\n  {variable} is not set: the {what} of the bot {bot}, for the role {role}")
    });
    Some(format!(
        "secrets are missing; the LINE Developers console shows them:{}\n  (each in the environment, \
         as a file named by the variable with _FILE behind it, or in the bot's section of \
         chatkeep.toml; `chatkeep demo` needs none)",
        lines.collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use chatkeep_core::config::Sources;

    use super::*;

    fn config(environment: &[(&str, &str)]) -> Config {
        let secrets = ["CHANNEL_SECRET", "ACCESS_TOKEN"]
            .map(|name| (format!("CHATKEEP_LINE_{name}"), "x".to_owned()));
        let given = environment
            .iter()
            .map(|(name, value)| (format!("CHATKEEP_{name}"), (*value).to_owned()));
        let environment = given.chain(secrets).collect();
        Config::load(Sources::new(None, environment, Vec::new())).unwrap()
    }

    #[test]
    fn others_are_served_only_where_their_address_or_a_proxy_is_named() {
        let all = ProcessRoles::default();
        let worker = ProcessRoles {
            roles: [ProcessRole::Worker, ProcessRole::Search].into(),
            ..all.clone()
        };
        let check = |environment: &[(&str, &str)], roles: &ProcessRoles| {
            let mut config = config(environment);
            config.bus = BusKind::Nats("nats://bus".to_owned().into());
            preflight_check(&config, roles).map_err(|error| error.to_string())
        };
        for listen in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(check(&[("LISTEN", listen)], &all), Ok(()), "{listen}");
        }
        for listen in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1"] {
            let error = check(&[("LISTEN", listen)], &all).unwrap_err();
            assert!(error.contains("CHATKEEP_API_BASE_URL") && error.contains(listen), "{error}");
            for named in [("API_BASE_URL", "https://chat.example.org"), ("API_PROXIES", "1")] {
                assert_eq!(check(&[("LISTEN", listen), named], &all), Ok(()), "{listen}");
            }
            assert_eq!(check(&[("LISTEN", listen)], &worker), Ok(()), "only health is there");
        }
    }

    #[test]
    fn options_of_the_database_are_checked_before_it_is_asked() {
        let all = ProcessRoles::default();
        let checked = |options: &str| {
            let address = format!("postgres://me:hunter2@db/chat{options}");
            let config = config(&[("DATABASE", &address)]);
            preflight_check(&config, &all).map_err(|error| error.to_string())
        };
        assert_eq!(checked("?sslmode=verify-full"), Ok(()));
        let error = checked("?sslmode=foo").unwrap_err();
        assert!(error.starts_with("CHATKEEP_DATABASE: "), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
        // The client would ignore it, and log its value.
        for (option, meant) in [("sslmod", "sslmode"), ("pasword", "password")] {
            assert_eq!(
                checked(&format!("?{option}=hunter2")),
                Err(format!(
                    "CHATKEEP_DATABASE: the database address has an unknown option: {option} (did \
                     you mean {meant}?)"
                ))
            );
        }
    }

    #[test]
    fn one_address_serves_one_purpose() {
        let all = ProcessRoles::default();
        let checked = |listen, metrics| {
            let config = config(&[("LISTEN", listen), ("METRICS_LISTEN", metrics)]);
            preflight_check(&config, &all).map_err(|error| error.to_string())
        };
        for metrics in ["127.0.0.1:9", "0.0.0.0:9", "[::]:9"] {
            let error = checked("127.0.0.1:9", metrics).unwrap_err();
            assert!(error.contains("different ports") && error.contains(metrics), "{error}");
        }
        for metrics in ["", "127.0.0.1:10", "127.0.0.2:9"] {
            assert_eq!(checked("127.0.0.1:9", metrics), Ok(()), "{metrics}");
        }
    }

    #[test]
    fn everything_that_hinders_the_start_is_named_at_once() {
        let config = config(&[("LISTEN", "0.0.0.0:1"), ("SNAPSHOT_EVERY_HOURS", "24")]);
        let all = ProcessRoles::default();
        let ingress = ProcessRoles { roles: [ProcessRole::Ingress].into(), ..all.clone() };
        assert_eq!(preflight_problems(&config, &all).len(), 2);
        let error = preflight_check(&config, &all).unwrap_err().to_string();
        for setting in ["CHATKEEP_LISTEN", "CHATKEEP_SNAPSHOT_TARGET"] {
            assert!(error.contains(setting), "{error}");
        }
        let problems = preflight_problems(&config, &ingress).join("\n");
        assert!(problems.contains("embedded bus") && !problems.contains("SNAPSHOT"), "{problems}");
    }

    #[test]
    fn plain_http_to_other_machines_is_named() {
        assert!(plain_http(&config(&[])).is_empty());
        let local = [
            ("API_BASE_URL", "http://localhost:8080"),
            ("LINE_API_BASE", "http://127.0.0.1:1"),
            ("S3_ENDPOINT", "http://minio:9000"),
        ];
        assert!(plain_http(&config(&local)).is_empty(), "no media are at that endpoint");
        let plain = [
            ("API_BASE_URL", "http://chat.example.org"),
            ("LINE_API_BASE", "http://192.0.2.1"),
            ("S3_ENDPOINT", "http://minio:9000"),
            ("BLOBS", "s3://bucket"),
        ];
        let warnings = plain_http(&config(&plain)).join("\n");
        for setting in ["api.base_url", "line.api_base", "s3.endpoint"] {
            assert!(warnings.contains(&format!("{setting} is plain http")), "{warnings}");
        }
        assert_eq!(warnings.lines().count(), 3, "{warnings}");
    }

    #[test]
    fn a_public_address_below_a_path_is_named() {
        let warned = |address| address_warnings(&config(&[("API_BASE_URL", address)]));
        assert_eq!(warned("https://chat.example.org/"), [""; 0]);
        let warnings = warned("https://example.org/chat");
        assert!(warnings.len() == 1 && warnings[0].contains("the path /chat:"), "{warnings:?}");
    }
}
