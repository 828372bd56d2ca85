//! Secrets that a running process replaces, once they were read again from files and settings.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_blobs::{Archive, Blobs};
use chatkeep_bus::Bus;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{BusKind, Config, Database, LineConfig};
use chatkeep_core::secret::SharedSecret;
use chatkeep_platform::line::LineWebhooks;
use chatkeep_store::Store;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Notify;
use tracing::{info, warn};

use super::same_place::is_same_place;

/// Secrets of a process that may be replaced while it runs. Clones share them.
#[derive(Clone)]
pub struct LiveSecrets {
    bots: Vec<BotSecrets>,
    login: Option<SharedSecret>,
    bus: Bus,
    store: Store,
    blobs: Blobs,
    /// Places of snapshots.
    archives: Arc<Mutex<Vec<Archive>>>,
    /// Settings with the present secrets.
    present: Arc<Mutex<Config>>,
}

/// Secrets of one bot.
#[derive(Clone, Debug)]
pub(super) struct BotSecrets {
    name: String,
    pub(super) webhooks: Option<LineWebhooks>,
    pub(super) channel_secret: Option<SharedSecret>,
    pub(super) token: Option<SharedSecret>,
    /// Notified when the access token was replaced.
    pub(super) renewed: Arc<Notify>,
}

impl fmt::Debug for LiveSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveSecrets").finish_non_exhaustive()
    }
}

impl LiveSecrets {
    pub(super) fn new(config: &Config, bus: &Bus, store: &Store, blobs: &Blobs) -> Self {
        Self {
            bots: config.line.iter().map(BotSecrets::new).collect(),
            login: config.login.client_secret.clone().map(SharedSecret::from),
            bus: bus.clone(),
            store: store.clone(),
            blobs: blobs.clone(),
            archives: Arc::default(),
            present: Arc::new(Mutex::new(config.clone())),
        }
    }

    /// Adds a place of snapshots, which has the access key of the media store: the present one, even
    /// where the place was opened with one that was replaced since.
    pub(super) fn add_archive(&self, archive: Archive) {
        let present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = archive.replace_access_key(&present.s3) {
            warn!(
                error = with_causes(&error),
                "the snapshot target keeps using its previous access key"
            );
        }
        self.archives.lock().unwrap_or_else(PoisonError::into_inner).push(archive);
    }

    pub(super) fn bot(&self, name: &str) -> Option<&BotSecrets> {
        self.bots.iter().find(|bot| bot.name == name)
    }

    pub(super) const fn login(&self) -> Option<&SharedSecret> {
        self.login.as_ref()
    }

    /// Replaces the secrets that differ in `config`, which was read again, and logs the settings
    /// that they belong to. An empty one leaves the present secret in use.
    pub fn replace(&self, config: &Config) {
        let mut present = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = 0;
        for (old, new) in pairs(&mut present.line, &config.line) {
            if let Some(bot) = self.bot(&new.name) {
                changes += bot.replace(old, new);
            }
        }
        let (old, new) = (&mut present.login.client_secret, &config.login.client_secret);
        changes += renew("login.client_secret", old, new.as_ref(), |secret| {
            self.login.as_ref().is_some_and(|login| login.replace(secret))
        });
        changes += self.replace_access_key(&mut present, config);
        changes += self.replace_database(&mut present, config);
        changes += self.replace_bus(&mut present, config);
        if changes == 0 {
            info!("secrets were read again: none has changed");
        }
    }

    fn replace_access_key(&self, present: &mut Config, config: &Config) -> usize {
        let key = |config: &Config| {
            let parts = [&config.s3.access_key_id, &config.s3.secret_access_key];
            let parts = parts.map(|part| part.as_ref().map(|part| part.expose_secret().to_owned()));
            parts[0].clone().zip(parts[1].clone())
        };
        // Both halves belong together.
        let joined = |config| key(config).map(|(id, secret)| format!("{id}\n{secret}").into());
        let (mut old, new) = (joined(present), joined(config));
        let replaced = renew("s3.secret_access_key", &mut old, new.as_ref(), |_| {
            let archives = self.archives.lock().unwrap_or_else(PoisonError::into_inner);
            let replaced = archives.iter().map(|archive| archive.replace_access_key(&config.s3));
            let replaced = replaced.chain([self.blobs.replace_access_key(&config.s3)]);
            // All of them, also after one that fails.
            let used = replaced.map(|replaced| is_used("s3.secret_access_key", &replaced));
            used.collect::<Vec<_>>().into_iter().all(|is_used| is_used)
        });
        if is_same(old.as_ref(), new.as_ref()) {
            present.s3 = config.s3.clone();
        }
        replaced
    }

    fn replace_database(&self, present: &mut Config, config: &Config) -> usize {
        let address = |config: &Config| match &config.database {
            Database::Sqlite => None,
            Database::Postgres(url) => Some(url.clone()),
        };
        let (mut old, new) = (address(present), address(config));
        let same = is_same_place(old.as_ref(), new.as_ref());
        let replaced = renew("database", &mut old, new.as_ref(), |_| {
            same && is_used("database", &self.store.replace_credentials(&config.database))
        });
        if is_same(old.as_ref(), new.as_ref()) {
            present.database = config.database.clone();
        }
        replaced
    }

    fn replace_bus(&self, present: &mut Config, config: &Config) -> usize {
        let address = |config: &Config| match &config.bus {
            BusKind::Embedded => None,
            BusKind::Nats(url) => Some(url.clone()),
        };
        let (mut old, new) = (address(present), address(config));
        let same = is_same_place(old.as_ref(), new.as_ref());
        let replaced = renew("bus", &mut old, new.as_ref(), |url| {
            same && is_used("bus", &self.bus.replace_credentials(url.expose_secret()))
        });
        if is_same(old.as_ref(), new.as_ref()) {
            present.bus = config.bus.clone();
        }
        replaced
    }
}

impl BotSecrets {
    fn new(bot: &LineConfig) -> Self {
        Self {
            name: bot.name.clone(),
            webhooks: LineWebhooks::new(&bot.channel_secrets()),
            channel_secret: bot.channel_secret.clone().map(SharedSecret::from),
            token: bot.access_token.clone().map(SharedSecret::from),
            renewed: Arc::default(),
        }
    }

    fn replace(&self, old: &mut LineConfig, new: &LineConfig) -> usize {
        let setting = |name: &str| match self.name.as_str() {
            LineConfig::MAIN => format!("line.{name}"),
            bot => format!("line.{bot}.{name}"),
        };
        let webhooks = self.webhooks.as_ref();
        let sign = |secret: &SecretString| {
            if let Some(shared) = &self.channel_secret {
                shared.replace(secret);
            }
            webhooks.is_some_and(|webhooks| webhooks.replace_secrets(&new.channel_secrets()))
        };
        let secret = new.channel_secret.as_ref();
        let changed = renew(&setting("channel_secret"), &mut old.channel_secret, secret, sign);
        let token = self.token.as_ref();
        let renewed = renew(
            &setting("access_token"),
            &mut old.access_token,
            new.access_token.as_ref(),
            |secret| token.is_some_and(|token| token.replace(secret)),
        );
        if renewed > 0 {
            self.renewed.notify_one();
        }
        changed + renewed + self.replace_previous(&setting("channel_secret_previous"), old, new)
    }

    /// Replaces the former channel secret, which may come and go.
    fn replace_previous(&self, setting: &str, old: &mut LineConfig, new: &LineConfig) -> usize {
        let (was, is) = (&old.channel_secret_previous, &new.channel_secret_previous);
        if is_same(was.as_ref(), is.as_ref()) {
            return 0;
        }
        old.channel_secret_previous.clone_from(is);
        let Some(webhooks) = &self.webhooks else { return 0 };
        if webhooks.replace_secrets(&old.channel_secrets()) {
            info!(setting, is_set = is.is_some(), "the secret was replaced");
        }
        1
    }
}

/// Returns the settings of the bots that both have.
fn pairs<'a>(
    present: &'a mut [LineConfig],
    read: &'a [LineConfig],
) -> impl Iterator<Item = (&'a mut LineConfig, &'a LineConfig)> {
    present.iter_mut().filter_map(|old| {
        let new = read.iter().find(|new| new.name == old.name)?;
        Some((old, new))
    })
}

/// Replaces one secret by the one that was read, if that differs, and logs what became of it;
/// returns the number of changes. `replace` returns whether the process uses it from now on.
fn renew(
    setting: &str,
    present: &mut Option<SecretString>,
    read: Option<&SecretString>,
    replace: impl FnOnce(&SecretString) -> bool,
) -> usize {
    if is_same(present.as_ref(), read) {
        return 0;
    }
    match read {
        None => warn!(setting, "the secret is empty now; the present one stays in use"),
        Some(secret) if present.is_some() && replace(secret) => {
            info!(setting, "the secret was replaced");
            *present = Some(secret.clone());
        }
        Some(_) => warn!(setting, "the setting has changed; it takes effect at the next start"),
    }
    1
}

/// Returns whether a secret is used from now on, and logs the reason if not.
fn is_used<E: Error + 'static>(setting: &str, replaced: &Result<(), E>) -> bool {
    if let Err(error) = replaced {
        warn!(setting, error = with_causes(error), "the secret cannot be replaced");
    }
    replaced.is_ok()
}

fn is_same(one: Option<&SecretString>, other: Option<&SecretString>) -> bool {
    one.map(SecretString::expose_secret) == other.map(SecretString::expose_secret)
}
