//! `Idempotency-Key`: a repeated POST with the same key returns the first response.
//!
//! Responses may contain a secret that is shown once (a new API key), so they are stored encrypted
//! with a key derived from the caller's own secret: the database alone cannot decrypt them. Only
//! responses of requests that changed something are stored; after all others the key is free. Of a
//! large response only a [`ReplayNote`] is stored, from which its handler rebuilds it. Whoever gets
//! one again is asked for the same permission as the first time.
//!
//! A request that changed something is never run again: the store marks its claim in the
//! transaction that changes it.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, response};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use chatkeep_core::{random, sha256};
use chatkeep_http::{BrowserSessions, ErrorCode, HttpError, bearer, tagged};
use chatkeep_services::idempotency::IdempotencyService;
use chatkeep_services::{Caller, Credential, FieldPath};
use chatkeep_store::{IdempotencyClaim, IdempotencyKey, IdempotencyState};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::MAX_BODY;
use super::replay::{ReplayNote, StoredReplay};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const TRUE: HeaderValue = HeaderValue::from_static("true");
/// Maximum length of a key.
const MAX_KEY: usize = 255;
const NONCE: usize = 12;
/// Maximum bytes of a response that is stored in full.
const MAX_STORED: usize = 64 * 1024;
/// Maximum bytes of one that can be rebuilt from its note.
const MAX_NOTED: usize = 8 * 1024;
/// Headers that are stored with a response.
const HEADERS: [HeaderName; 3] = [header::CONTENT_TYPE, header::ETAG, header::LOCATION];

/// Stored response.
#[derive(Debug, Serialize, Deserialize)]
struct StoredResponse {
    headers: Vec<(String, String)>,
    /// Absent for a large response.
    body: Option<String>,
    note: Option<String>,
}

/// State of the layer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Idempotency {
    /// Keys of requests, with what was answered to them.
    pub keys: IdempotencyService,
    /// Sessions of browsers, which are callers, too.
    pub sessions: BrowserSessions,
}

/// Replays responses to repeated POSTs.
pub(super) async fn layer(
    State(idempotency): State<Idempotency>,
    request: Request,
    next: Next,
) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(&KEY) {
        return next.run(request).await;
    }
    let caller = request.extensions().get::<Caller>().cloned();
    let key = request.headers().get(&KEY).and_then(valid);
    match (key, caller) {
        (None, _) => {
            let why = "must be 1 to 255 visible ASCII characters, without spaces";
            HttpError::invalid_value(FieldPath::header("Idempotency-Key"), why).into_response()
        }
        // Unauthenticated callers are rejected anyway.
        (Some(_), None) => next.run(request).await,
        (Some(key), Some(caller)) => match idempotency.once(&key, &caller, request, next).await {
            Ok(response) => response,
            Err(error) => error.into_response(),
        },
    }
}

fn valid(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    let fits = (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    fits.then(|| text.to_owned())
}

impl Idempotency {
    async fn once(
        &self,
        key: &str,
        caller: &Caller,
        request: Request,
        next: Next,
    ) -> Result<Response, HttpError> {
        let (mut parts, body) = request.into_parts();
        let body = to_bytes(body, MAX_BODY).await.map_err(|_| HttpError::TooLarge)?;
        // The two names of a route are one.
        let route = parts.uri.path().replacen("/api/v1/", "/api/", 1);
        let query = parts.uri.query().unwrap_or_default();
        let seal = Seal::new(self.secret_of(&parts.headers), key);
        let key = IdempotencyKey {
            owner: owner(caller),
            key_hash: digest(&[key.as_bytes()]),
            request: request_digest(&route, query, &body),
            route,
        };
        let claim = match self.keys.claim(&key).await? {
            IdempotencyState::First(claim) => claim,
            IdempotencyState::Running => return Err(HttpError::RUNNING),
            IdempotencyState::Interrupted => return Err(INTERRUPTED),
            IdempotencyState::Other => return Err(OTHER),
            IdempotencyState::Answered { status, answer } => {
                let kept = seal.open(&answer).ok_or(NOT_STORED)?;
                if let (None, Some(note)) = (&kept.body, &kept.note) {
                    parts.extensions.insert(ReplayNote(note.clone()));
                    let request = Request::from_parts(parts, body.into());
                    return Ok(replayed(next.run(request).await));
                }
                // The caller may have lost the permission since.
                parts.extensions.insert(kept.replay(status)?);
                return Ok(next.run(Request::from_parts(parts, body.into())).await);
            }
        };
        let request = Request::from_parts(parts, body.into());
        let answer = claim.clone().run(next.run(request)).await;
        self.store_response(&claim, &seal, answer).await
    }

    /// Stores the response of a request that changed something, also one that was refused
    /// afterwards; frees the key of one that changed nothing.
    async fn store_response(
        &self,
        claim: &IdempotencyClaim,
        seal: &Seal,
        answer: Response,
    ) -> Result<Response, HttpError> {
        if answer.status().is_server_error() {
            self.keys.abandon_after_failure(claim).await;
            return Ok(answer);
        }
        let (parts, body) = tagged(answer, false).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(|_| HttpError::Internal)?;
        let kept = StoredResponse::of(&parts, &body);
        let (status, sealed) = (parts.status.as_u16(), seal.close(&kept)?);
        self.keys.finish(claim, status, &sealed).await;
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    /// Returns the caller's secret: the key, or the session's cookie.
    fn secret_of<'h>(&self, headers: &'h HeaderMap) -> &'h str {
        let session = || self.sessions.cookie(headers);
        bearer(headers).or_else(session).unwrap_or_default()
    }
}

/// Whose keys they are: the API key's, or the person's, in whatever session.
fn owner(caller: &Caller) -> String {
    match &caller.credential {
        Credential::Session(_) => format!("user:{}", caller.user),
        other => other.owner(),
    }
}

fn replayed(mut response: Response) -> Response {
    response.headers_mut().insert(REPLAYED, TRUE);
    response
}

const OTHER: HttpError = HttpError::Refused {
    status: StatusCode::UNPROCESSABLE_ENTITY,
    code: ErrorCode::IdempotencyKeyReused,
    error: "The Idempotency-Key was used for another request",
};

const INTERRUPTED: HttpError = HttpError::Refused {
    status: StatusCode::CONFLICT,
    code: ErrorCode::RequestInterrupted,
    error: "The request with this Idempotency-Key was interrupted after it changed something: \
            look at what is there before you send it with another key",
};

const NOT_STORED: HttpError = HttpError::Refused {
    status: StatusCode::CONFLICT,
    code: ErrorCode::AnswerNotKept,
    error: "The request with this Idempotency-Key was completed; its response cannot be replayed",
};

/// Returns the hash of a whole request. Without a query it is that of earlier versions.
fn request_digest(route: &str, query: &str, body: &[u8]) -> String {
    if query.is_empty() {
        return digest(&[route.as_bytes(), body]);
    }
    digest(&[format!("{route}?{query}").as_bytes(), body])
}

fn digest(parts: &[&[u8]]) -> String {
    STANDARD_NO_PAD.encode(sha256::of_parts(parts))
}

/// Encrypts responses so that only the original caller can decrypt them.
struct Seal(ChaCha20Poly1305);

impl Seal {
    fn new(secret: &str, key: &str) -> Self {
        let hash = Sha256::new()
            .chain_update(b"chatkeep idempotency\0")
            .chain_update((secret.len() as u64).to_be_bytes())
            .chain_update(secret)
            .chain_update(key.as_bytes())
            .finalize();
        Self(ChaCha20Poly1305::new(&hash))
    }

    fn close(&self, kept: &StoredResponse) -> Result<String, HttpError> {
        let nonce: [u8; NONCE] = random::bytes();
        let plain = serde_json::to_vec(kept).map_err(|_| HttpError::Internal)?;
        let sealed = self.0.encrypt(&Nonce::from(nonce), &plain[..]);
        let sealed = sealed.map_err(|_| HttpError::Internal)?;
        Ok(STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str) -> Option<StoredResponse> {
        let bytes = STANDARD_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        let plain = self.0.decrypt(&Nonce::from(*nonce), sealed).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

impl StoredResponse {
    /// Returns the stored form of a response: in full, or the note of a large one.
    fn of(parts: &response::Parts, body: &[u8]) -> Self {
        let kept = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        };
        let note = parts.extensions.get::<ReplayNote>().map(|note| note.0.clone());
        let most = if note.is_some() { MAX_NOTED } else { MAX_STORED };
        let small = Some(body).filter(|body| body.len() <= most);
        Self {
            headers: HEADERS.iter().filter_map(kept).collect(),
            body: small.and_then(|body| String::from_utf8(body.to_vec()).ok()),
            note,
        }
    }

    fn replay(self, status: u16) -> Result<StoredReplay, HttpError> {
        let body = self.body.ok_or(NOT_STORED)?;
        let status = StatusCode::from_u16(status).map_err(|_| HttpError::Internal)?;
        let headers = self.headers.into_iter().filter_map(|(name, value)| {
            Some((name.parse::<HeaderName>().ok()?, value.parse::<HeaderValue>().ok()?))
        });
        let headers = headers.chain([(REPLAYED, TRUE)]).collect();
        Ok(StoredReplay { status, headers, body: Bytes::from(body) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &'static str) -> StoredResponse {
        let response = (StatusCode::CREATED, [(header::ETAG, "\"v1\"")], body).into_response();
        StoredResponse::of(&response.into_parts().0, body.as_bytes())
    }

    #[test]
    fn only_the_same_caller_opens_an_answer() {
        let sealed = Seal::new("ck_a", "k").close(&answer("{\"key\":\"ck_x\"}")).unwrap();
        assert!(!sealed.contains("ck_x"));
        let opened = Seal::new("ck_a", "k").open(&sealed).unwrap();
        assert_eq!(opened.body.as_deref(), Some("{\"key\":\"ck_x\"}"));
        let replayed = opened.replay(201).unwrap();
        assert_eq!(
            (replayed.status, replayed.headers[header::ETAG].to_str().ok()),
            (StatusCode::CREATED, Some("\"v1\""))
        );
        assert!(Seal::new("ck_b", "k").open(&sealed).is_none());
        assert!(Seal::new("ck_a", "l").open(&sealed).is_none());
        assert!(Seal::new("ck_a", "k").open("zz").is_none());
    }

    #[test]
    fn a_large_answer_is_not_kept() {
        let largest: &'static str = "x".repeat(MAX_STORED).leak();
        assert!(answer(largest).body.is_some());
        let large: &'static str = "x".repeat(MAX_STORED + 1).leak();
        let kept = answer(large);
        assert!(kept.body.is_none() && kept.note.is_none() && kept.replay(200).is_err());
    }

    #[test]
    fn what_can_be_rebuilt_is_kept_up_to_less() {
        let stored = |bytes: usize| {
            let mut response = StatusCode::CREATED.into_response();
            response.extensions_mut().insert(ReplayNote("qa_1".to_owned()));
            StoredResponse::of(&response.into_parts().0, "x".repeat(bytes).as_bytes())
        };
        assert!(stored(MAX_NOTED).body.is_some());
        let noted = stored(MAX_NOTED + 1);
        assert_eq!((noted.body, noted.note.as_deref()), (None, Some("qa_1")));
    }

    #[test]
    fn the_query_belongs_to_a_request() {
        let digest = request_digest("/api/keys", "", b"{}");
        assert_eq!(digest, super::digest(&[b"/api/keys", b"{}"]), "as earlier versions stored it");
        assert_ne!(digest, request_digest("/api/keys", "a=b", b"{}"));
    }
}
