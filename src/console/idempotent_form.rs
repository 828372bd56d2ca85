//! Forms that make something once: each page of one has an id, and a form that comes again with the
//! same id and the same fields makes nothing more. That holds across processes, for a day.

use std::future::Future;

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::Response;
use chatkeep_core::id::UserId;
use chatkeep_core::random;
use chatkeep_store::{IdempotencyClaim, IdempotencyKey, IdempotencyState};
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;

use super::Console;
use super::error::PageError;
use super::form::{SubmittedBody, SubmittedForm};
use super::visitor::Visitor;

/// Name of the field with the id of a page's form.
const FIELD: &str = "form";

/// Form that makes something, as a signed-in person sent it.
pub(super) struct IdempotentForm<T> {
    pub(super) visitor: Visitor,
    pub(super) form: T,
    pub(super) form_key: FormKey,
}

/// Key by which the same form is known again; `None` for a page of an earlier version.
#[derive(Debug)]
pub(super) struct FormKey(Option<IdempotencyKey>);

impl<T: DeserializeOwned> FromRequest<Console> for IdempotentForm<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, console: &Console) -> Result<Self, PageError> {
        let sent = SubmittedBody::read(request, console).await?;
        let form_key = FormKey::of(&sent);
        let SubmittedForm { visitor, form } = sent.parsed()?;
        Ok(Self { visitor, form, form_key })
    }
}

/// Returns the id of a form, anew for each page.
pub(super) fn form_id() -> String {
    hex::encode(random::bytes::<16>())
}

impl FormKey {
    fn of(sent: &SubmittedBody) -> Self {
        let has_id =
            form_urlencoded::parse(&sent.body).any(|(name, id)| name == FIELD && !id.is_empty());
        Self(has_id.then(|| key(&sent.user, sent.visitor.address.path(), &sent.body)))
    }

    /// Does what the form asks for, unless a form that was the same did; then it returns `None`.
    ///
    /// # Errors
    /// Returns the error of the work; [`PageError::Busy`] if one that is the same
    /// is at work for longer than a few seconds.
    pub(super) async fn run(
        self,
        console: &Console,
        work: impl Future<Output = Result<Response, PageError>>,
    ) -> Result<Option<Response>, PageError> {
        let Some(key) = self.0 else { return work.await.map(Some) };
        let claim = match console.services.idempotency.claim_after_others(&key).await? {
            IdempotencyState::First(claim) => claim,
            IdempotencyState::Running => return Err(PageError::Busy),
            IdempotencyState::Interrupted
            | IdempotencyState::Other
            | IdempotencyState::Answered { .. } => return Ok(None),
        };
        let done = claim.clone().run(work).await;
        let status = done.as_ref().ok().map(Response::status);
        settle(console, &claim, status).await;
        done.map(Some)
    }
}

/// Remembers a form that made something, and forgets one that did not; without a status, it failed.
async fn settle(console: &Console, claim: &IdempotencyClaim, status: Option<StatusCode>) {
    let keys = &console.services.idempotency;
    match status {
        // The page itself is not stored: it may show a secret.
        Some(status) => keys.finish(claim, status.as_u16(), "").await,
        None => keys.abandon_after_failure(claim).await,
    }
}

fn key(user: &UserId, path: &str, body: &[u8]) -> IdempotencyKey {
    IdempotencyKey {
        owner: format!("user:{user}"),
        route: path.to_owned(),
        key_hash: hex::encode(Sha256::digest(body)),
        request: String::new(),
    }
}
