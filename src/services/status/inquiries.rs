//! Answers of other machines: when certificates and tokens expire, and the newest snapshot.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::Config;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, PlatformError, SharedPlatform};
use chatkeep_store::Store;
use serde::Serialize;

use super::Unread;
use crate::certificates;
use crate::operator::Operator;
use crate::snapshots::{SnapshotError, SnapshotService};

/// Timeout of one question to another machine.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Snapshots of the deployment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotStatus {
    /// Location.
    pub place: String,
    /// Time of the newest whole one; `None` when there is none.
    pub newest_at: Option<String>,
    pub newest_seconds_ago: Option<u64>,
    /// Age of the newest one at which another one is made; `None` when none is made by itself.
    pub every_hours: Option<u64>,
    /// Reason why the place cannot be read.
    pub error: Option<String>,
}

/// Answers of other machines that are part of the status.
#[derive(Clone, Debug, Default)]
pub struct Inquiries {
    pub expiries: Vec<Expiry>,
    pub snapshots: Option<SnapshotStatus>,
    /// Parts that could not be opened, and so are not asked.
    pub unread: Vec<Unread>,
}

/// A certificate or a token that expires.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// `certificate`, or `access_token` of a bot.
    pub kind: &'static str,
    /// Address of the certificate, or name of the bot.
    pub name: String,
    /// `None` when that is not known.
    pub expires_at: Option<String>,
    pub seconds_left: Option<u64>,
    /// Reason why it cannot be used or asked for.
    pub error: Option<String>,
}

/// Asks when the certificate of the public address and the access tokens of the bots expire: the
/// address itself, and the platform.
#[boxed]
pub async fn expiries(
    _: &Operator,
    base_url: Option<&str>,
    bots: &Bots,
    clock: &SharedClock,
) -> Vec<Expiry> {
    let found = expiry_times(base_url, bots, clock).await;
    found.into_iter().map(|(kind, name, at)| Expiry::new(kind, &name, at, clock)).collect()
}

/// Time at which something expires; `None` if it does not, or that is not known.
pub(crate) type ExpiryTime = Result<Option<Timestamp>, String>;

/// Asks the same. Returns kind, name and time of each.
pub(crate) async fn expiry_times(
    base_url: Option<&str>,
    bots: &Bots,
    clock: &SharedClock,
) -> Vec<(&'static str, String, ExpiryTime)> {
    let mut found = Vec::new();
    if let Some(address) = base_url.filter(|address| address.starts_with("https://")) {
        let expiry = answered(certificates::expiry(address)).await;
        found.push(("certificate", address.to_owned(), expiry.map(Some)));
    }
    for bot in bots.names() {
        let Ok(directory) = bots.get(bot) else { continue };
        let left = answered(token_lifetime(directory.platform())).await;
        let at = left.map(|left| left.map(|left| clock.now().plus(left)));
        found.push(("access_token", bot.to_owned(), at));
    }
    found
}

/// Asks how long an access token is valid. One of which the platform tells nothing may also be one that
/// it refuses.
async fn token_lifetime(platform: &SharedPlatform) -> Result<Option<Duration>, PlatformError> {
    let lifetime = platform.token_lifetime().await?;
    if lifetime.is_none() {
        platform.bot().await?;
    }
    Ok(lifetime)
}

/// Looks at the newest snapshot; `None` when the settings name no place for snapshots. With a database
/// that can be read, another place than its own is an error.
#[boxed]
pub async fn snapshots(
    _: &Operator,
    config: &Config,
    store: Option<&Store>,
    clock: &SharedClock,
) -> Option<SnapshotStatus> {
    let place = config.snapshot.target.as_ref()?.to_string();
    let newest = async {
        let service = SnapshotService::open_existing(config, None, Arc::clone(clock))?;
        if let Some(store) = store {
            service.check_target_id(store).await?;
        }
        match service.manifest("latest").await {
            Ok(manifest) => Ok(Some(manifest.created_at)),
            Err(SnapshotError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let (at, error) = match answered(newest).await {
        Ok(at) => (at, None),
        Err(error) => (None, Some(error)),
    };
    Some(SnapshotStatus {
        place,
        newest_at: at.map(|at| at.to_string()),
        newest_seconds_ago: at.map(|at| clock.now().since(at).as_secs()),
        every_hours: config.snapshot.every.map(|every| every.as_secs() / 3_600),
        error,
    })
}

/// Waits for an answer of another machine.
async fn answered<T, E: std::error::Error + 'static>(
    question: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, question).await {
        Ok(answer) => answer.map_err(|error| with_causes(&error)),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

impl Expiry {
    fn new(kind: &'static str, name: &str, at: ExpiryTime, clock: &SharedClock) -> Self {
        let (at, error) = match at {
            Ok(at) => (at, None),
            Err(error) => (None, Some(error)),
        };
        Self {
            kind,
            name: name.to_owned(),
            expires_at: at.map(|at| at.to_string()),
            seconds_left: at.map(|at| at.since(clock.now()).as_secs()),
            error,
        }
    }
}
