//! How an emulator is set up, and why it cannot be.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::deliver::Redelivery;
use super::ids::Clock;

/// How an emulator is set up.
#[derive(Clone)]
pub struct Options {
    /// Where the API listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where webhooks go; can also be set later.
    pub webhook_url: Option<String>,
    /// Signs the webhooks.
    pub channel_secret: String,
    /// The bearer token that calls of the API must carry.
    pub access_token: String,
    /// The bot's display name.
    pub bot_name: String,
    /// Ids depend on it.
    pub seed: u64,
    /// Tells the time of events and of reply tokens.
    pub clock: Clock,
    /// How long webhooks are sent again.
    pub redelivery: Redelivery,
    /// How long the service may take to answer a webhook.
    pub webhook_timeout: Duration,
}

impl Options {
    /// A free port, seed 1, made-up secrets.
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

/// Why an emulator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not allowed.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The HTTP client cannot be set up.
    #[error("cannot set up the HTTP client")]
    Client(#[from] reqwest::Error),
}
