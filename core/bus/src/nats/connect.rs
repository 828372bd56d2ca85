//! Connects to NATS: addresses, credentials, and automatic reconnection.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Auth, Client, ConnectOptions, Event, ServerAddr};
use chatkeep_core::outage::{Availability, Work};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::debug;

use super::{CONFIRM, unavailable};
use crate::BusError;

/// Maximum number of unconfirmed publishes. Waiting for a slot while others wait for theirs could
/// block for good, so the limit is out of reach; the timeout bounds them in fact.
const UNCONFIRMED: usize = 1_000_000;

/// Interval between pings; detecting a silently dead connection takes two of them.
const PING: Duration = Duration::from_secs(10);

/// Servers and their credentials. No `Debug`: it holds secrets.
struct Target {
    servers: Vec<ServerAddr>,
    user: Option<(String, String)>,
    token: Option<String>,
}

/// Credentials of new connections, which may be replaced while the process runs. No `Debug`: it
/// holds secrets.
#[derive(Clone, Default)]
pub(super) struct Credentials(Arc<RwLock<Auth>>);

impl Credentials {
    /// Takes the credentials of these addresses.
    pub(super) fn replace(&self, servers: &str) -> Result<(), BusError> {
        self.set(parse(servers)?);
        Ok(())
    }

    fn set(&self, target: Target) {
        let mut auth = Auth::new();
        (auth.username, auth.password) = target.user.unzip();
        // A user takes precedence.
        auth.token = target.token.filter(|_| auth.username.is_none());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = auth;
    }

    fn get(&self) -> Auth {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Connects; the receiver follows the state of the connection.
pub(super) async fn connect(
    servers: &str,
    credentials: &Credentials,
    availability: &Availability,
) -> Result<(Client, Context, watch::Receiver<bool>), BusError> {
    let target = parse(servers)?;
    let servers = target.servers.clone();
    credentials.set(target);
    let credentials = credentials.clone();
    let (follow, connected) = watch::channel(true);
    let availability = availability.clone();
    let authenticate = move |_nonce| std::future::ready(Ok(credentials.get()));
    let options = ConnectOptions::with_auth_callback(authenticate)
        .name("chatkeep")
        .connection_timeout(Duration::from_secs(3))
        .request_timeout(Some(CONFIRM))
        .ping_interval(PING)
        .event_callback(move |event| {
            match event {
                Event::Connected => {
                    follow.send_replace(true);
                    availability.works(Work::Reading);
                }
                Event::Disconnected | Event::Closed => {
                    follow.send_replace(false);
                    availability.fails(Work::Reading, "the connection was lost");
                }
                Event::ServerError(error) => debug!(%error, "error from the NATS server"),
                Event::ClientError(error) => debug!(%error, "error in the NATS client"),
                _ => {}
            }
            std::future::ready(())
        });
    let client = timeout(CONFIRM, options.connect(servers))
        .await
        .map_err(|_| BusError::Unavailable("no NATS server responds".into()))?
        .map_err(|error| unavailable(&error))?;
    let context =
        ContextBuilder::new().timeout(CONFIRM).max_ack_inflight(UNCONFIRMED).build(client.clone());
    Ok((client, context, connected))
}

/// Parses the addresses; credentials are left out of them, for addresses end up in logs.
fn parse(servers: &str) -> Result<Target, BusError> {
    let (scheme, rest) = servers.split_once("://").unwrap_or(("nats", servers));
    if !matches!(scheme, "nats" | "tls") {
        return Err(BusError::Config("a NATS address begins with nats:// or tls://".into()));
    }
    let mut target = Target { servers: Vec::new(), user: None, token: None };
    for part in rest.split(',').map(str::trim) {
        let part = part.strip_prefix(scheme).and_then(|p| p.strip_prefix("://")).unwrap_or(part);
        let (credentials, host) = match part.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials), host),
            None => (None, part),
        };
        // The client would ignore them. Not shown: a query may hold a token.
        let host = host.strip_suffix('/').unwrap_or(host);
        if host.contains(['/', '?', '#']) {
            return Err(BusError::Config("a NATS address has neither a path nor options".into()));
        }
        let address: ServerAddr = format!("{scheme}://{host}").parse().map_err(|_| {
            BusError::Config(format!("{host:?} is not the address of a NATS server"))
        })?;
        if host.is_empty() {
            return Err(BusError::Config("a NATS address names a server".into()));
        }
        target.servers.push(address);
        match credentials.map(|text| text.split_once(':').ok_or(text)) {
            Some(Ok((user, password))) => target.user = Some((decode(user)?, decode(password)?)),
            Some(Err(token)) => target.token = Some(decode(token)?),
            None => {}
        }
    }
    Ok(target)
}

/// Decodes the percent-encoding of a URL's user part.
fn decode(text: &str) -> Result<String, BusError> {
    let broken =
        || BusError::Config("the credentials of the NATS address are not URL-encoded".into());
    // The decoder leaves what is no escape as it is: a password whose % was not encoded would be
    // another one.
    let is_escape = |after: &str| after.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(is_escape) {
        return Err(broken());
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| broken())?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
#[path = "connect_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(target: &Target) -> Vec<(String, u16)> {
        target.servers.iter().map(|s| (s.host().to_owned(), s.port())).collect()
    }

    #[test]
    fn takes_several_servers() {
        let target = parse("nats://one,two:4333, nats://three").unwrap();
        let expected = [("one", 4222), ("two", 4333), ("three", 4222)];
        assert_eq!(hosts(&target), expected.map(|(host, port)| (host.to_owned(), port)));
        assert!(target.user.is_none() && target.token.is_none());
    }

    #[test]
    fn keeps_credentials_out_of_the_addresses() {
        let target = parse("nats://bot:p%40ss:w@one,two").unwrap();
        assert_eq!(target.user, Some(("bot".into(), "p@ss:w".into())));
        let shown = format!("{:?}", target.servers);
        assert!(!shown.contains("bot") && !shown.contains("p%40ss"), "{shown}");

        let target = parse("nats://s3cret@one").unwrap();
        assert_eq!(target.token.as_deref(), Some("s3cret"));
    }

    #[test]
    fn new_connections_have_the_credentials_that_were_given_last() {
        let credentials = Credentials::default();
        credentials.replace("nats://bot:old@one").unwrap();
        let clone = credentials.clone();
        credentials.replace("nats://bot:n%40w@one").unwrap();
        let auth = clone.get();
        assert_eq!(auth.username.zip(auth.password), Some(("bot".into(), "n@w".into())));
        assert!(auth.token.is_none());
        assert!(credentials.replace("nats://").is_err());
        assert_eq!(clone.get().username.as_deref(), Some("bot"), "the present ones stay");
        credentials.replace("nats://s3cret@one").unwrap();
        let auth = clone.get();
        assert_eq!((auth.username, auth.token), (None, Some("s3cret".into())));
    }

    #[test]
    fn refuses_what_is_no_address() {
        for servers in [
            "http://one",
            "nats://",
            "nats://one,,two",
            "nats://a%zz:b@one",
            "nats://a%4@one",
            "nats://%ff@one",
        ] {
            assert!(matches!(parse(servers), Err(BusError::Config(_))), "{servers}");
        }
    }

    #[test]
    fn refuses_what_the_client_would_ignore() {
        for ignored in ["?token=s3cret", "/?tls=s3cret", "/s3cret", "#s3cret", ":port?token=s3cret"]
        {
            for servers in
                [format!("nats://me:pw@one{ignored}"), format!("nats://one{ignored},two")]
            {
                let refused = parse(&servers).map(drop).unwrap_err().to_string();
                assert!(refused.contains("neither a path nor options"), "{servers} {refused}");
                assert!(!refused.contains("s3cret"), "{servers} {refused}");
            }
        }
        assert_eq!(hosts(&parse("nats://one/,two/").unwrap()).len(), 2);
    }
}
