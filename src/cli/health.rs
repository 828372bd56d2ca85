//! `chatkeep health`: asks the process on this machine whether it runs, for containers, whose images
//! have no other program that could.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::config::{ConfigError, Inspection, SettingValue};
use chatkeep_core::http::local_client;
use chatkeep_transfer::out::say;

#[derive(Debug, clap::Args)]
pub(super) struct HealthArgs {
    /// Check readiness (/readyz): whether the bus and the database respond and, in a process
    /// without the role ingress, the search index. Without it, only liveness is checked (/healthz).
    #[arg(long)]
    ready: bool,
    /// Timeout of the request in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    timeout: u64,
}

/// Returns the address that a process with these settings listens on, whatever is wrong with others.
///
/// # Errors
/// Returns an error if that setting is no address.
pub(super) fn listen(inspection: &Inspection) -> anyhow::Result<SocketAddr> {
    // It would be shown as its default, which another process may listen on.
    let is_wrong = |problem: &&ConfigError| matches!(problem, ConfigError::Invalid { key, .. } if key == "listen");
    if let Some(problem) = inspection.problems.iter().find(is_wrong) {
        bail!("{problem}");
    }
    let text = inspection.settings.iter().find_map(|setting| match &setting.value {
        SettingValue::Text(text) if setting.key == "listen" => Some(text),
        _ => None,
    });
    text.and_then(|text| text.parse().ok())
        .context("CHATKEEP_LISTEN is not an address and port, such as 127.0.0.1:8080")
}

/// Asks the process that listens on `listen`.
///
/// # Errors
/// Returns an error if it does not respond, or not with 200.
pub(super) async fn run(listen: SocketAddr, args: &HealthArgs) -> anyhow::Result<()> {
    let path = if args.ready { "readyz" } else { "healthz" };
    let address = reachable(listen);
    let request = local_client(Duration::from_secs(args.timeout))?;
    let answer = request.get(format!("http://{address}/{path}")).send().await;
    let answer = answer
        .map_err(reqwest::Error::without_url)
        .with_context(|| format!("no process responds on {address} (CHATKEEP_LISTEN)"))?;
    let status = answer.status();
    let body = answer.text().await.unwrap_or_default();
    if !status.is_success() {
        bail!("/{path} responded {status}: {}", body.trim());
    }
    Ok(say!("{}", body.trim())?)
}

/// Returns the address at which a listener is reached from this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_every_address_is_reached_on_this_machine() {
        for (listen, expected) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("192.0.2.1:1", "192.0.2.1:1"),
        ] {
            assert_eq!(reachable(listen.parse().unwrap()), expected.parse().unwrap());
        }
    }
}
