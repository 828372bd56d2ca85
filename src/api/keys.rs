//! API keys of the caller.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::{ChannelId, KeyId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Key, NewKey, Rotated};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::auth::{Caller, ManageKeys, Scoped};
use super::cursor::Page;
use super::error::ApiError;
use super::extract::{Body, Paging, Path, Query};
use super::route::{Describe, Output};
use super::subscriptions::Success;
use super::{Api, input};
use crate::decode::nullable;
use crate::random;
use crate::services::{FieldPath, Window};

/// Maximum characters of a key's name.
const NAME: usize = 100;
/// Keys read at a time.
const PAGE: u32 = 500;
/// Maximum number of channels that a key is restricted to.
const CHANNELS: usize = 1_000;
/// Location in the body.
const CHANNEL_IDS: FieldPath = FieldPath::body("/channelIds");
/// A rotated key works this long unless the caller says otherwise.
const OVERLAP: Duration = Duration::from_hours(24);
/// Maximum overlap in seconds: 30 days.
const MAX_OVERLAP: u64 = 2_592_000;

/// The user has as many keys as a user may have.
const TOO_MANY: ApiError = ApiError::Refused {
    status: StatusCode::CONFLICT,
    code: "too_many_keys",
    error: "A user can have at most 50 active keys: delete one first",
};

/// `GET /api/keys`.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyList)]
#[serde(rename_all = "camelCase")]
pub(super) struct Keys {
    /// The keys of the page.
    keys: Vec<KeyView>,
    /// The `cursor` of the next page; null on the last one.
    next_cursor: Option<String>,
}

/// An API key, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
#[serde(rename_all = "camelCase")]
struct KeyView {
    /// ID of the key; not a secret.
    key_id: KeyId,
    /// Name given at creation.
    name: String,
    /// Last four characters of the key.
    mask: String,
    /// Scopes of the key.
    scopes: Vec<Scope>,
    /// Channels that the key is restricted to; null for all.
    channel_ids: Option<Vec<ChannelId>>,
    /// The key cannot read messages sent before this time; null for no restriction.
    not_before: Option<Timestamp>,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of expiry; null for never.
    expires_at: Option<Timestamp>,
    /// Time of last use, to the minute; null before the first use.
    last_used_at: Option<Timestamp>,
}

/// A new key.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadeKey {
    /// The secret key. It is not shown again.
    key: String,
    /// ID of the key; not a secret.
    key_id: KeyId,
    /// Name given at creation.
    name: String,
    /// The last four characters of the key.
    mask: String,
    /// Scopes of the key.
    scopes: Vec<Scope>,
    /// Channels that the key is restricted to; null for all.
    channel_ids: Option<Vec<ChannelId>>,
    /// The key cannot read messages sent before this time; null for no restriction.
    not_before: Option<Timestamp>,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of expiry; null for never.
    expires_at: Option<Timestamp>,
    /// Time until which the previous key stays valid after a rotation; null for a new key.
    previous_until: Option<Timestamp>,
}

/// API key to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeyBody {
    /// Name of the key, for people.
    #[schema(min_length = 1, max_length = 100, pattern = r"[^\s\u0000\u0085]")]
    name: String,
    /// Scopes of the key: at least one, and only scopes that the caller has.
    #[schema(min_items = 1, max_items = 8)]
    scopes: Vec<Scope>,
    /// Channels that the key is restricted to; all when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<input::ChannelName>>, max_items = 1000)]
    channel_ids: Option<Vec<String>>,
    /// The key cannot read messages sent before this time; no restriction when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    not_before: Option<Timestamp>,
    /// Time of expiry, in the future; never when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    expires_at: Option<Timestamp>,
}

/// Options for rotating a key.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RotateBody {
    /// Seconds for which the old key stays valid; one day when absent.
    #[serde(default, deserialize_with = "crate::decode::whole")]
    #[schema(minimum = 0, maximum = 2_592_000, nullable = false)]
    overlap_seconds: Option<u32>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct KeyPath {
    /// ID of the key.
    #[serde(rename = "keyId")]
    #[param(value_type = String)]
    key: KeyId,
}

/// 201 with the key, shown once.
pub(super) struct CreatedKey(MadeKey);

pub(super) async fn list(
    State(api): State<Api>,
    access: Scoped<ManageKeys>,
    Query(paging): Query<Paging>,
) -> Result<Page<Keys>, ApiError> {
    let window = Window::open("keys", paging.limit, paging.cursor.as_deref())?;
    let mut keys = api.keys_within(&access.caller, window.after.as_ref(), window.wanted()).await?;
    let next = window.cut(&mut keys, |key| (key.created_at, key.id.clone()));
    let keys = keys.into_iter().map(KeyView::from).collect();
    Ok(Page { body: Keys { keys, next_cursor: next.clone() }, next })
}

pub(super) async fn make(
    State(api): State<Api>,
    access: Scoped<ManageKeys>,
    Body(body): Body<KeyBody>,
) -> Result<CreatedKey, ApiError> {
    let now = api.clock.now();
    let wanted = body.checked(&access.caller, now)?;
    let (id, secret) = (KeyId::new(random::key_id()), random::api_key());
    let key = NewKey {
        id: &id,
        secret: &secret,
        user: &access.caller.user,
        name: &wanted.name,
        scopes: &wanted.scopes,
        channels: wanted.channels.as_deref(),
        not_before: wanted.not_before,
        expires_at: wanted.expires_at,
    };
    if !api.store.keys().add_key(&key, now).await? {
        return Err(TOO_MANY);
    }
    let stored = api.store.keys().key(&secret).await?.ok_or(ApiError::Internal)?;
    Ok(CreatedKey(MadeKey::new(stored, secret, None)))
}

pub(super) async fn rotate(
    State(api): State<Api>,
    access: Scoped<ManageKeys>,
    Path(path): Path<KeyPath>,
    Body(body): Body<RotateBody>,
) -> Result<CreatedKey, ApiError> {
    let seconds = body.overlap_seconds.map_or(OVERLAP.as_secs(), u64::from);
    if seconds > MAX_OVERLAP {
        let why = format_args!("must be at most {MAX_OVERLAP}");
        return Err(ApiError::invalid_value(FieldPath::body("/overlapSeconds"), why));
    }
    let known = api.key_of(&access.caller, &path.key).await?;
    // A bounded caller does not learn which keys there are beyond its bounds.
    if known.is_none() && !Bounds::full().within(&access.caller.bounds) {
        return Err(ApiError::InsufficientPermissions);
    }
    let now = api.clock.now();
    let until = now.plus(Duration::from_secs(seconds));
    let (id, secret) = (KeyId::new(random::key_id()), random::api_key());
    let user = &access.caller.user;
    let rotated = api.store.keys().rotate_key(user, &path.key, (&id, &secret), until, now).await?;
    let key = match rotated {
        Rotated::Done(key) => key,
        Rotated::NoKey => return Err(ApiError::NotFound),
        Rotated::TooMany => return Err(TOO_MANY),
    };
    let until = key.expires_at.map_or(until, |end| end.min(until));
    Ok(CreatedKey(MadeKey::new(key, secret, Some(until))))
}

pub(super) async fn remove(
    State(api): State<Api>,
    access: Scoped<ManageKeys>,
    Path(path): Path<KeyPath>,
) -> Result<Json<Success>, ApiError> {
    let known = api.key_of(&access.caller, &path.key).await?.ok_or(ApiError::NotFound)?;
    if api.store.keys().drop_key_of(&access.caller.user, &known.id, api.clock.now()).await? {
        Ok(Success::answer())
    } else {
        Err(ApiError::NotFound)
    }
}

impl Api {
    /// Returns the caller's key of that ID, if it is within the caller's permissions; otherwise it
    /// is as unknown as another person's.
    async fn key_of(&self, caller: &Caller, id: &KeyId) -> Result<Option<Key>, ApiError> {
        let key = self.store.keys().key_of(&caller.user, id).await?;
        Ok(key.filter(|key| key.bounds().within(&caller.bounds)))
    }

    /// Returns the caller's keys within the caller's permissions, from after `after`, at most
    /// `wanted`.
    async fn keys_within(
        &self,
        caller: &Caller,
        after: Option<&(Timestamp, KeyId)>,
        wanted: u32,
    ) -> Result<Vec<Key>, ApiError> {
        let (mut found, mut after) = (Vec::new(), after.cloned());
        while found.len() < wanted as usize {
            let page = self.store.keys().list(&caller.user, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some((last.created_at, last.id.clone()));
            found.extend(page.into_iter().filter(|key| key.bounds().within(&caller.bounds)));
        }
        found.truncate(wanted as usize);
        Ok(found)
    }
}

/// A checked [`KeyBody`].
struct Wanted {
    name: String,
    scopes: Vec<Scope>,
    channels: Option<Vec<ChannelId>>,
    not_before: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

impl KeyBody {
    /// Validates the body: a key never exceeds the permissions of its creator.
    fn checked(self, caller: &Caller, now: Timestamp) -> Result<Wanted, ApiError> {
        let name = input::text(FieldPath::body("/name"), self.name, 1, NAME)?;
        if !(1..=Scope::ALL.len()).contains(&self.scopes.len()) {
            let why = "must contain at least one scope and no duplicates";
            return Err(ApiError::invalid_value(FieldPath::body("/scopes"), why));
        }
        let mut scopes = Vec::new();
        for scope in self.scopes {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        if !scopes.iter().all(|scope| caller.bounds.has(*scope)) {
            return Err(ApiError::InsufficientPermissions);
        }
        let ids = self.channel_ids;
        let channels =
            ids.map(|ids| input::channel_ids(&CHANNEL_IDS, ids, CHANNELS)).transpose()?;
        let channels = match (channels, caller.channels()) {
            (None, own) => own.map(<[_]>::to_vec),
            (Some(asked), _) if caller.sees_all(&asked) => Some(asked),
            (Some(_), _) => return Err(ApiError::InsufficientPermissions),
        };
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(ApiError::invalid_value(
                FieldPath::body("/expiresAt"),
                "must be in the future",
            ));
        }
        let not_before = self.not_before.max(caller.not_before());
        let ends = self.expires_at.into_iter().chain(caller.bounds.expires_at).min();
        Ok(Wanted { name, scopes, channels, not_before, expires_at: ends })
    }
}

impl MadeKey {
    fn new(key: Key, secret: String, previous_until: Option<Timestamp>) -> Self {
        Self {
            key: secret,
            key_id: key.id,
            name: key.name,
            mask: key.mask,
            scopes: key.scopes,
            channel_ids: key.channels,
            not_before: key.not_before,
            created_at: key.created_at,
            expires_at: key.expires_at,
            previous_until,
        }
    }
}

impl From<Key> for KeyView {
    fn from(key: Key) -> Self {
        Self {
            key_id: key.id,
            name: key.name,
            mask: key.mask,
            scopes: key.scopes,
            channel_ids: key.channels,
            not_before: key.not_before,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
        }
    }
}

impl IntoResponse for CreatedKey {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl Output for CreatedKey {
    fn describe(route: &mut Describe) {
        route.answers::<MadeKey>(StatusCode::CREATED, "The key, which is shown only once");
        for answer in &mut route.answers {
            answer.links = vec![("rotate_key", "keyId", "keyId"), ("delete_key", "keyId", "keyId")];
        }
    }
}
