//! Emulator of the LINE platform: it sends signed webhooks and responds to Messaging API calls as
//! LINE does, and records every rule that a caller violates.
//!
//! [`Emulator::start`] opens the API on a loopback port. People, groups and rooms are created with
//! `add_…`; their actions ([`Action`], or the methods named after it) are sent to the webhook URL.
//! The [`Emulator::transcript`] contains the messages of people and of the bot.
//!
//! It is based on LINE's published documentation alone and uses nothing else of chatkeep, so that
//! errors there are not repeated here.

#![expect(clippy::disallowed_methods, reason = "a test double, which nobody restarts")]

mod account;
mod act;
mod action;
mod api;
mod client;
mod deliver;
mod faults;
mod ids;
mod log;
mod options;
mod outbox;
mod post;
mod presence;
mod restore;
mod talk;
#[cfg(test)]
mod tests;
mod transcript;
mod watch;
mod webhook;
mod world;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use account::{Account, ChatMode, TokenKind};
pub use action::{ActError, Action};
pub use deliver::{Attempt, Delivery, Redelivery};
pub use faults::{Fault, Target};
pub use ids::Clock;
pub use log::{Call, Rule, Violation};
pub use options::{Options, StartError};
pub use post::{Emoji, Location, Media, MediaState, Mention, MentionTarget, Post, Sticker, Text};
pub use restore::RestoredMessage;
pub use talk::Delivered;
pub use transcript::{Author, Change, Entry};
pub use webhook::{Event, Signed, Webhook, signature};
pub use world::{Chat, ChatKind, User};

use faults::Faults;
use log::Log;
use world::World;

/// A subscriber may be this many changes behind before it misses some.
const CHANGES: usize = 4096;
/// Timeout for running calls at shutdown.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// A running LINE platform. Clones are the same one.
#[derive(Clone)]
pub struct Emulator {
    shared: Arc<Shared>,
}

struct Shared {
    address: SocketAddr,
    channel_secret: String,
    access_token: String,
    redelivery: Redelivery,
    http: reqwest::Client,
    webhook_url: Mutex<Option<String>>,
    account: Mutex<Account>,
    world: Mutex<World>,
    log: Mutex<Log>,
    faults: Mutex<Faults>,
    changes: broadcast::Sender<Change>,
    stop: CancellationToken,
    server: Mutex<Option<JoinHandle<()>>>,
}

/// Locks; what a panicking test left behind is as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn announce(&self, change: Change) {
        // Fails without subscribers.
        let _ = self.changes.send(change);
    }
}

impl Emulator {
    /// Opens the API.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let failed = |error| StartError::Listen(options.listen, error);
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let shared = Shared {
            address: listener.local_addr().map_err(failed)?,
            http: client::webhooks(options.webhook_timeout)?,
            world: Mutex::new(World::new(options.clock, options.seed, &options.bot_name)),
            channel_secret: options.channel_secret,
            access_token: options.access_token,
            redelivery: options.redelivery,
            webhook_url: Mutex::new(options.webhook_url),
            account: Mutex::new(Account::new(options.seed)),
            log: Mutex::default(),
            faults: Mutex::default(),
            changes: broadcast::channel(CHANGES).0,
            stop: CancellationToken::new(),
            server: Mutex::default(),
        };
        let emulator = Self { shared: Arc::new(shared) };
        let stopped = emulator.shared.stop.clone().cancelled_owned();
        let serve = axum::serve(listener, api::router(emulator.clone()));
        let server = tokio::spawn(async move {
            // Serving ends by the signal only and returns no error.
            let _ = serve.with_graceful_shutdown(stopped).await;
        });
        *lock(&emulator.shared.server) = Some(server);
        Ok(emulator)
    }

    /// Closes the API and drops webhooks that wait for a retry.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        let server = lock(&self.shared.server).take();
        if let Some(mut server) = server
            && tokio::time::timeout(LAST_CALLS, &mut server).await.is_err()
        {
            server.abort();
        }
    }

    /// Returns the address of the API, for content too: `http://127.0.0.1:…`.
    pub fn api_base(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// Returns the address that webhooks are sent to.
    pub fn webhook_url(&self) -> Option<String> {
        lock(&self.shared.webhook_url).clone()
    }

    /// Sends webhooks there from now on, also those that are being sent again.
    pub fn set_webhook_url(&self, url: Option<String>) {
        *lock(&self.shared.webhook_url) = url;
    }

    /// Puts another module in control of the chats: events are then in `standby` mode and carry no
    /// reply token.
    pub fn set_standby(&self, standby: bool) {
        lock(&self.shared.world).standby = standby;
    }

    /// Returns the time by the configured clock.
    pub fn now(&self) -> i64 {
        lock(&self.shared.world).now()
    }

    /// Creates a person who has not added the bot as a friend yet.
    pub fn add_user(&self, name: &str, picture_url: Option<&str>) -> User {
        let (user, chat) = lock(&self.shared.world).add_user(name, picture_url.map(str::to_owned));
        self.shared.announce(Change::Chat(chat));
        user
    }

    /// Sets the language of a person's app.
    pub fn set_language(&self, user: &str, language: &str) {
        if let Some(user) = lock(&self.shared.world).users.get_mut(user) {
            user.language = Some(language.to_owned());
        }
    }

    /// Creates a group of these people, without the bot.
    pub fn add_group(&self, name: &str, picture_url: Option<&str>, members: &[&str]) -> Chat {
        let picture_url = picture_url.map(str::to_owned);
        let chat = lock(&self.shared.world).add_many(Some(name), picture_url, members);
        self.shared.announce(Change::Chat(chat.clone()));
        chat
    }

    /// Gives a group another name. No event tells it.
    pub fn rename_group(&self, chat: &str, name: &str) {
        let changed = lock(&self.shared.world).chats.get_mut(chat).map(|chat| {
            chat.name = Some(name.to_owned());
            chat.clone()
        });
        if let Some(chat) = changed {
            self.shared.announce(Change::Chat(chat));
        }
    }

    /// Creates a room of these people, without the bot.
    pub fn add_room(&self, members: &[&str]) -> Chat {
        let chat = lock(&self.shared.world).add_many(None, None, members);
        self.shared.announce(Change::Chat(chat.clone()));
        chat
    }

    /// Hosts a picture of a person or group, and returns its address.
    pub fn add_picture(&self, picture: Media) -> String {
        let mut world = lock(&self.shared.world);
        world.pictures.push(picture);
        format!("{}/pictures/{}", self.api_base(), world.pictures.len() - 1)
    }

    /// Changes whether LINE has a message's content to give.
    pub fn set_content_state(&self, message_id: &str, state: MediaState) {
        if let Some(posted) = lock(&self.shared.world).posts.get_mut(message_id)
            && let Some(media) = &mut posted.media
        {
            media.state = state;
        }
    }

    /// Lets the next `calls` calls to `target` fail; faults set earlier come first.
    pub fn fail_next(&self, target: Target, calls: usize, fault: Fault) {
        lock(&self.shared.faults).next(target, calls, fault);
    }

    /// Lets nothing fail any more.
    pub fn clear_faults(&self) {
        lock(&self.shared.faults).clear();
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("address", &self.shared.address).finish_non_exhaustive()
    }
}
