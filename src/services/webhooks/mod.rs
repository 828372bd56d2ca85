//! Outgoing webhooks of callers.

mod deliveries;
mod draft;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, WebhookId};
use chatkeep_core::random;
use chatkeep_core::sha256;
use chatkeep_core::signing;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{
    NewWebhook, SecretRotated, Store, Webhook, WebhookChanged, WebhookMade, WebhookMaker,
};
use secrecy::SecretString;

pub use deliveries::{DeliveryListQuery, DeliveryWithBody, delivery_id, event_name};
pub use draft::{WEBHOOK_DESCRIPTION, WebhookDraft, WebhookUpdate};

use super::access::{Caller, ManageWebhooks, Scoped};
use super::keys::checked_overlap;
use super::{ServiceError, Window};
use crate::event_renderer::EventRenderer;

/// Refusal of a secret that would be the third valid one.
const STILL_VALID: &str = "The previous secret is still valid, and at most two can be: with \
                           keepPrevious the new one takes the place of the current one, and with \
                           overlapSeconds 0 both end at once";
/// Refusal to keep a secret that is not there.
const NO_PREVIOUS: &str = "No previous secret is valid";

/// Webhook with its new secret, which is not shown again.
#[derive(Debug)]
pub struct WebhookWithSecret {
    /// The webhook.
    pub webhook: Webhook,
    /// Secret that deliveries are signed with.
    pub secret: SecretString,
}

/// Treatment of the secrets that a webhook has when it gets another one. At most two are valid at a
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormerSecrets {
    /// The current one also signs for that many seconds, a day when absent. While one before it is
    /// valid, only 0 is possible, which ends both.
    Overlap(Option<u32>),
    /// The current one ends at once, and the one before it stays valid until its time.
    KeepPrevious,
}

/// Outgoing webhooks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WebhookService {
    store: Store,
    clock: SharedClock,
    renderer: EventRenderer,
    /// True when webhooks may be sent to private addresses.
    allow_private: bool,
}

impl WebhookService {
    pub(super) const fn new(
        store: Store,
        clock: SharedClock,
        renderer: EventRenderer,
        allow_private: bool,
    ) -> Self {
        Self { store, clock, renderer, allow_private }
    }

    /// Returns at most `limit` webhooks that the caller may manage, and the cursor of the next
    /// page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &Scoped<ManageWebhooks>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<(Vec<Webhook>, Option<String>), ServiceError> {
        let window = Window::open("webhooks", limit, cursor)?;
        let after: Option<(Timestamp, WebhookId)> = window.after.clone();
        let is_after = |webhook: &Webhook| {
            after.as_ref().is_none_or(|key| (webhook.created_at, &webhook.id) > (key.0, &key.1))
        };
        let mut webhooks = self.store.webhooks().list(&access.caller.user).await?;
        webhooks.retain(|webhook| manages(&access.caller, webhook) && is_after(webhook));
        let next = window.cut(&mut webhooks, |webhook| (webhook.created_at, webhook.id.clone()));
        Ok((webhooks, next))
    }

    /// Returns a webhook.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for a webhook that is unknown or beyond the caller's permissions.
    #[boxed]
    pub async fn one(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &WebhookId,
    ) -> Result<Webhook, ServiceError> {
        let webhook = self.store.webhooks().webhook(&access.caller.user, id).await?;
        webhook.filter(|webhook| manages(&access.caller, webhook)).ok_or(ServiceError::NotFound)
    }

    /// Creates a webhook, which never gets more than its creator may read.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad value, [`ServiceError::InsufficientFor`] for more than
    /// the caller may read, [`ServiceError::TooManyWebhooks`].
    #[boxed]
    pub async fn create(
        &self,
        access: &Scoped<ManageWebhooks>,
        draft: WebhookDraft,
    ) -> Result<WebhookWithSecret, ServiceError> {
        let caller = &access.caller;
        let wanted = draft.checked(caller, self.allow_private)?;
        let (id, secret) = (random::webhook_id(), signing::secret(random::bytes()));
        let new = NewWebhook {
            id: &id,
            user: &caller.user,
            secret: &secret,
            change: wanted.change(),
            maker: maker(caller),
        };
        match self.store.webhooks().add_webhook(&new, self.clock.now()).await? {
            WebhookMade::Done => {}
            WebhookMade::TooMany => return Err(ServiceError::TooManyWebhooks),
            WebhookMade::KeyEnded => return Err(ServiceError::InvalidKey),
        }
        Ok(WebhookWithSecret { webhook: self.one(access, &id).await?, secret })
    }

    /// Changes a webhook, if it has the `expected` version ([`webhook_version`]); any version
    /// without. It keeps the restrictions of its creator's key, and adds those of the caller's.
    ///
    /// # Errors
    /// Those of [`Self::create`]; [`ServiceError::NotFound`] as of [`Self::one`],
    /// [`ServiceError::Stale`] for another version.
    #[boxed]
    pub async fn change(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &WebhookId,
        update: WebhookUpdate,
        expected: Option<&str>,
    ) -> Result<Webhook, ServiceError> {
        loop {
            // What is absent is that of the webhook that is changed.
            let known = self.one(access, id).await?;
            if expected.is_some_and(|version| version != webhook_version(&known)) {
                return Err(ServiceError::Stale);
            }
            if let Some(changed) = self.change_known(access, known, update.clone()).await? {
                return Ok(changed);
            }
        }
    }

    /// Changes a webhook; `None` if somebody else changed it meanwhile.
    async fn change_known(
        &self,
        access: &Scoped<ManageWebhooks>,
        known: Webhook,
        update: WebhookUpdate,
    ) -> Result<Option<Webhook>, ServiceError> {
        let caller = &access.caller;
        let wanted = update.over(&known).checked(caller, self.allow_private)?;
        let (change, maker, now) = (wanted.change(), maker(caller), self.clock.now());
        let own = caller.key().is_none_or(|key| known.key.as_ref() == Some(key));
        if own && wanted.is(&known) && !known.bounds.ended(now) {
            return Ok(Some(known));
        }
        match self.store.webhooks().change_webhook(&known, change, maker, now).await? {
            WebhookChanged::Done => {}
            WebhookChanged::Stale => return Ok(None),
            WebhookChanged::NoWebhook => return Err(ServiceError::NotFound),
            WebhookChanged::BeyondEvents => {
                return Err(ServiceError::InsufficientFor { field: draft::EVENTS });
            }
            WebhookChanged::BeyondChannels => {
                return Err(ServiceError::InsufficientFor { field: draft::CHANNEL_IDS });
            }
            WebhookChanged::KeyEnded => return Err(ServiceError::InvalidKey),
        }
        self.one(access, &known.id).await.map(Some)
    }

    /// Deletes a webhook and its deliveries.
    ///
    /// # Errors
    /// Those of [`Self::one`].
    #[boxed]
    pub async fn remove(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &WebhookId,
    ) -> Result<(), ServiceError> {
        let known = self.one(access, id).await?;
        let dropped = self.store.webhooks().drop_webhook(&access.caller.user, &known.id).await?;
        if dropped { Ok(()) } else { Err(ServiceError::NotFound) }
    }

    /// Replaces the secret of a webhook.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for too long an overlap; [`ServiceError::Conflict`] when the one
    /// before the current secret is still valid, or is to be kept and is not valid; as of
    /// [`Self::one`].
    #[boxed]
    pub async fn rotate_secret(
        &self,
        access: &Scoped<ManageWebhooks>,
        id: &WebhookId,
        former: FormerSecrets,
    ) -> Result<WebhookWithSecret, ServiceError> {
        let (user, now) = (&access.caller.user, self.clock.now());
        let (until, refusal) = match former {
            FormerSecrets::Overlap(seconds) => {
                (Some(now.plus(checked_overlap(seconds)?)), STILL_VALID)
            }
            FormerSecrets::KeepPrevious => (None, NO_PREVIOUS),
        };
        let known = self.one(access, id).await?;
        let secret = signing::secret(random::bytes());
        let webhooks = self.store.webhooks();
        match webhooks.rotate_webhook_secret(user, &known.id, &secret, until, now).await? {
            SecretRotated::Done => {}
            SecretRotated::Refused => return Err(ServiceError::Conflict(refusal)),
            SecretRotated::NoWebhook => return Err(ServiceError::NotFound),
        }
        Ok(WebhookWithSecret { webhook: self.one(access, id).await?, secret })
    }
}

/// Returns the version of what a form of a webhook changes: whether it is on, and its secret, are no
/// part of it.
pub fn webhook_version(webhook: &Webhook) -> String {
    let events = webhook.events.iter().map(|kind| kind.name());
    let channels = webhook.channels.iter().flatten().map(ChannelId::as_str);
    let reach = if webhook.channels.is_some() { "chosen" } else { "all" };
    let texts = [webhook.url.as_str(), webhook.description.as_str(), reach];
    let hash = sha256::of_parts(texts.into_iter().chain(events).chain(channels));
    hex::encode(&hash[..8])
}

/// Returns true when the webhook's bounds are within the caller's credential; other webhooks are
/// hidden from it.
pub(super) fn manages(caller: &Caller, webhook: &Webhook) -> bool {
    webhook.reach().within(&caller.bounds)
}

/// Returns the caller as the creator of a webhook or its change.
fn maker(caller: &Caller) -> WebhookMaker<'_> {
    WebhookMaker { key: caller.key(), bounds: &caller.bounds }
}
