//! Options of an emulator, and reasons for a failed start.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::deliver::Redelivery;
use super::ids::Clock;

/// Options of an emulator.
#[derive(Clone)]
pub struct Options {
    /// Listening address of the API; port 0 selects a free one.
    pub listen: SocketAddr,
    /// Address that webhooks are sent to; can also be set later.
    pub webhook_url: Option<String>,
    /// Signs the webhooks.
    pub channel_secret: String,
    /// The bearer token that calls of the API must carry.
    pub access_token: String,
    /// The bot's display name.
    pub bot_name: String,
    /// Ids depend on it.
    pub seed: u64,
    /// Clock of events and reply tokens.
    pub clock: Clock,
    /// Retry schedule of webhooks.
    pub redelivery: Redelivery,
    /// Timeout for the service's response to a webhook.
    pub webhook_timeout: Duration,
}

impl Options {
    /// Creates options with a free port, seed 1 and generated secrets.
    pub fn new(clock: Clock) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            webhook_url: None,
            channel_secret: "emulator-channel-secret".to_owned(),
            access_token: "emulator-access-token".to_owned(),
            bot_name: "Chatkeep".to_owned(),
            seed: 1,
            clock,
            redelivery: Redelivery::default(),
            webhook_timeout: Duration::from_secs(10),
        }
    }
}

/// Reason for a failed start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is in use or not permitted.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The HTTP client cannot be set up.
    #[error("cannot set up the HTTP client")]
    Client(#[from] reqwest::Error),
}
