//! API keys of the caller.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, KeyId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, OptionalBody, Path, Query};
use chatkeep_services::access::{ManageKeys, Scoped};
use chatkeep_services::decode::nullable;
use chatkeep_services::keys::{IssuedKey, KeyDraft};
use chatkeep_services::{FieldPath, Services};
use chatkeep_store::Key;
use chatkeep_view::when::When;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::cursor::Page;
use super::extract::Paging;
use super::input;
use super::route::{Describe, Output};
use super::subscriptions::Success;

/// Page of API keys.
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
    /// True if the key shows stable pseudonyms in place of people.
    pseudonyms: bool,
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
    /// True if the key shows stable pseudonyms in place of people.
    pseudonyms: bool,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of expiry; null for never.
    expires_at: Option<Timestamp>,
    /// Time of last use; null, because nobody has used it yet.
    last_used_at: Option<Timestamp>,
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
    /// Scopes of the key: at least one, and only scopes that the caller has. Repeated ones count
    /// once.
    #[schema(min_items = 1)]
    scopes: Vec<Scope>,
    /// Channels that the key is restricted to; all when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<input::ChannelIdInput>>, max_items = 1000)]
    channel_ids: Option<Vec<String>>,
    /// The key cannot read messages sent before this time; no restriction when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    not_before: Option<When>,
    /// Time of expiry, in the future; never when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    expires_at: Option<When>,
    /// True for a key that shows stable pseudonyms in place of people, and texts without phone
    /// numbers, addresses and the like. It cannot have `write:` scopes. When absent, the value of
    /// the key that creates it.
    #[serde(default)]
    #[schema(nullable = false)]
    pseudonyms: Option<bool>,
}

/// Options for rotating a key.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RotateBody {
    /// Seconds for which the old key stays valid; one day when absent.
    #[serde(default, deserialize_with = "chatkeep_services::decode::whole")]
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
    State(services): State<Services>,
    access: Scoped<ManageKeys>,
    Query(paging): Query<Paging>,
) -> Result<Page<Keys>, HttpError> {
    let cursor = paging.cursor.as_deref();
    let (keys, next) = services.keys.page(&access, paging.limit.0, cursor).await?;
    let keys = keys.into_iter().map(KeyView::from).collect();
    Ok(Page { body: Keys { keys, next_cursor: next.clone() }, next })
}

pub(super) async fn make(
    State(services): State<Services>,
    access: Scoped<ManageKeys>,
    Body(body): Body<KeyBody>,
) -> Result<CreatedKey, HttpError> {
    let moment = |field, when| services.messages.moment(None, FieldPath::body(field), when);
    let draft = KeyDraft {
        name: body.name,
        scopes: body.scopes,
        channels: body.channel_ids,
        not_before: moment("/notBefore", body.not_before).await?,
        expires_at: moment("/expiresAt", body.expires_at).await?,
        pseudonyms: body.pseudonyms,
    };
    Ok(CreatedKey(services.keys.create(&access, draft).await?.into()))
}

pub(super) async fn rotate(
    State(services): State<Services>,
    access: Scoped<ManageKeys>,
    Path(path): Path<KeyPath>,
    OptionalBody(body): OptionalBody<RotateBody>,
) -> Result<CreatedKey, HttpError> {
    let issued = services.keys.rotate(&access, &path.key, body.overlap_seconds).await?;
    Ok(CreatedKey(issued.into()))
}

pub(super) async fn remove(
    State(services): State<Services>,
    access: Scoped<ManageKeys>,
    Path(path): Path<KeyPath>,
) -> Result<Json<Success>, HttpError> {
    services.keys.remove(&access, &path.key).await?;
    Ok(Success::answer())
}

impl From<IssuedKey> for MadeKey {
    fn from(issued: IssuedKey) -> Self {
        let IssuedKey { key, secret, previous_until } = issued;
        Self {
            key: secret,
            key_id: key.id,
            name: key.name,
            mask: key.mask,
            scopes: key.scopes,
            channel_ids: key.channels,
            not_before: key.not_before,
            pseudonyms: key.pseudonyms.is_some(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
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
            pseudonyms: key.pseudonyms.is_some(),
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
