//! OAuth clients: registered ones, and those whose id is the address of a document that describes
//! them.

use std::time::Duration;

use axum::http::Method;
use chatkeep_core::cache::Cache;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::http::host_of;
use chatkeep_services::grants::nameless_client;
use chatkeep_store::OAuthClient;
use chatkeep_view::sanitize::{is_visible, one_line};
use futures_util::StreamExt as _;
use serde::Deserialize;
use tracing::info;

use super::Inner;
use super::error::OAuthError;
use super::redirect::acceptable;

/// Maximum size of a client's document in bytes.
const MAX_DOCUMENT: usize = 16 * 1024;
/// Timeout for fetching a client's document.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of described clients that are remembered.
const REMEMBERED: usize = 200;
/// Time for which a described client is remembered.
const REMEMBERED_FOR: Duration = Duration::from_mins(5);
/// Maximum number of a client's redirect addresses.
pub(super) const MAX_ADDRESSES: usize = 20;
/// Maximum length of a client's name in characters.
const MAX_NAME: usize = 80;

const UNKNOWN: OAuthError = OAuthError::client("Unknown client");
const UNREADABLE: OAuthError = OAuthError::client("The client metadata document cannot be read");
const WRONG: OAuthError =
    OAuthError::client("The client metadata document has another client_id, or no redirect_uris");

/// Clients that their documents describe, by id: the question, a choice that is made again, and the
/// decision need one call of the address alone.
pub(super) type DescribedClients = Cache<String, Result<OAuthClient, OAuthError>>;

/// Client id metadata document; further members are ignored.
#[derive(Deserialize)]
struct Document {
    client_id: String,
    client_name: Option<String>,
    redirect_uris: Vec<String>,
}

/// Returns no clients yet. What cannot be read is read again.
pub(super) fn described_clients() -> DescribedClients {
    Cache::with_ages(REMEMBERED, |client| match client {
        Ok(_) => REMEMBERED_FOR,
        Err(_) => Duration::ZERO,
    })
}

impl Inner {
    /// Returns the client of that id.
    pub(super) async fn client(&self, id: &str) -> Result<OAuthClient, OAuthError> {
        if !id.contains("://") {
            return self.services.grants.client(id).await?.ok_or(UNKNOWN);
        }
        let describe = async {
            let described = tokio::time::timeout(TIMEOUT, describe(&self.http, id)).await;
            described.unwrap_or(Err(UNREADABLE))
        };
        self.described.get_or_compute(&id.to_owned(), describe).await
    }
}

/// Fetches the document of a client, without following redirects or connecting to internal
/// addresses.
async fn describe(http: &GuardedClient, id: &str) -> Result<OAuthClient, OAuthError> {
    let url = http.check(id).map_err(|error| unreadable(&error))?;
    // An id with a fragment or without a path could belong to two clients.
    if url.fragment().is_some() || url.path() == "/" {
        return Err(WRONG);
    }
    let answer = http.request(Method::GET, url).header("accept", "application/json");
    let answer = answer.send().await.map_err(|error| unreadable(&error))?;
    if answer.status() != axum::http::StatusCode::OK {
        return Err(UNREADABLE);
    }
    let mut body = Vec::new();
    let mut parts = answer.bytes_stream();
    while let Some(part) = parts.next().await {
        body.extend_from_slice(&part.map_err(|error| unreadable(&error))?);
        if body.len() > MAX_DOCUMENT {
            return Err(UNREADABLE);
        }
    }
    let document: Document = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
    let Document { client_id, client_name, redirect_uris } = document;
    if client_id != id
        || redirect_uris.is_empty()
        || !redirect_uris.iter().all(|one| acceptable(one))
    {
        return Err(WRONG);
    }
    Ok(OAuthClient { name: name(client_name.as_deref(), id), id: client_id, redirect_uris })
}

/// Logs the cause of an unreadable document.
fn unreadable(error: &(dyn std::error::Error + 'static)) -> OAuthError {
    info!(error, "cannot read a client's metadata document");
    UNREADABLE
}

/// Returns a client's name: the declared one, cut, or its address if nothing of that can be seen.
pub(super) fn name(given: Option<&str>, id: &str) -> String {
    let given = one_line(given.unwrap_or_default(), MAX_NAME);
    if is_visible(&given) {
        return given;
    }
    host_of(id).unwrap_or_else(nameless_client)
}
