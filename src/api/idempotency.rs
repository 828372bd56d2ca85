//! `Idempotency-Key`: a POST that is repeated with the same key gives the first answer again
//! (contract section 1).
//!
//! Answers may hold a secret that is shown once (a new API key), so they are stored sealed with a
//! key made from the caller's own secret: the database alone cannot open them. Only successes are
//! kept; after a refusal the key is free again.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use chatkeep_core::store::{IdempotencyKey, Repeated};
use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::auth::Caller;
use super::error::ApiError;
use super::{Api, MAX_BODY, random};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// A key is at most this long.
const MAX_KEY: usize = 255;
const NONCE: usize = 12;

/// Answers repeated POSTs.
pub(super) async fn layer(State(api): State<Api>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(&KEY) {
        return next.run(request).await;
    }
    let caller = request.extensions().get::<Caller>().cloned();
    let key = request.headers().get(&KEY).and_then(valid);
    match (key, caller) {
        (None, _) => {
            let why = "Idempotency-Key is 1 to 255 printable ASCII characters";
            ApiError::invalid("Idempotency-Key", why).into_response()
        }
        // Whoever is not known is refused anyway.
        (Some(_), None) => next.run(request).await,
        (Some(key), Some(caller)) => match api.once(&key, &caller, request, next).await {
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

impl Api {
    async fn once(
        &self,
        key: &str,
        caller: &Caller,
        request: Request,
        next: Next,
    ) -> Result<Response, ApiError> {
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, MAX_BODY).await.map_err(|_| ApiError::TooLarge)?;
        // The two names of a route are one.
        let route = parts.uri.path().replacen("/api/v1/", "/api/", 1);
        let seal = Seal::new(secret_of(&parts.headers), key);
        let claim = IdempotencyKey {
            owner: caller.credential.owner(),
            key_hash: digest(&[key.as_bytes()]),
            request: digest(&[route.as_bytes(), &body]),
            route,
        };
        match self.store.claim_idempotency(&claim, self.clock.now()).await? {
            Repeated::First => {}
            Repeated::Running => {
                return Err(ApiError::Conflict("A request with this Idempotency-Key is running"));
            }
            Repeated::Other => return Err(OTHER),
            Repeated::Answered { status, answer } => return seal.replay(status, &answer),
        }
        let answer = next.run(Request::from_parts(parts, body.into())).await;
        self.keep(&claim, &seal, answer).await
    }

    /// Stores a success; frees the key after anything else.
    async fn keep(
        &self,
        claim: &IdempotencyKey,
        seal: &Seal,
        answer: Response,
    ) -> Result<Response, ApiError> {
        if !answer.status().is_success() {
            self.store.release_idempotency(claim).await?;
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(|_| ApiError::Internal)?;
        let sealed = seal.close(&body)?;
        if let Err(error) =
            self.store.finish_idempotency(claim, parts.status.as_u16(), &sealed).await
        {
            // It is done; only repeating it will not be recognised.
            warn!(error = %error, "an answer could not be kept for its Idempotency-Key");
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}

const OTHER: ApiError = ApiError::Refused {
    status: StatusCode::UNPROCESSABLE_ENTITY,
    code: "idempotency_key_reused",
    error: "The Idempotency-Key was used for another request",
};

/// What only the caller has.
fn secret_of(headers: &HeaderMap) -> &[u8] {
    let shown = headers.get(header::AUTHORIZATION).or_else(|| headers.get(header::COOKIE));
    shown.map_or(b"", HeaderValue::as_bytes)
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    STANDARD_NO_PAD.encode(hash.finalize())
}

/// Seals answers so that only whoever sent the request can have them again.
struct Seal(ChaCha20Poly1305);

impl Seal {
    fn new(secret: &[u8], key: &str) -> Self {
        let hash = Sha256::new()
            .chain_update(b"chatkeep idempotency\0")
            .chain_update((secret.len() as u64).to_be_bytes())
            .chain_update(secret)
            .chain_update(key.as_bytes())
            .finalize();
        Self(ChaCha20Poly1305::new(&hash))
    }

    fn close(&self, body: &[u8]) -> Result<String, ApiError> {
        let nonce: [u8; NONCE] = random::bytes();
        let sealed = self.0.encrypt(&Nonce::from(nonce), body).map_err(|_| ApiError::Internal)?;
        Ok(STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        let bytes = STANDARD_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        self.0.decrypt(&Nonce::from(*nonce), sealed).ok()
    }

    fn replay(&self, status: u16, sealed: &str) -> Result<Response, ApiError> {
        let body = self.open(sealed).ok_or(OTHER)?;
        let status = StatusCode::from_u16(status).map_err(|_| ApiError::Internal)?;
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (status, json, Bytes::from(body)).into_response();
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_caller_opens_an_answer() {
        let sealed = Seal::new(b"Bearer a", "k").close(b"{\"key\":\"ck_x\"}").unwrap();
        assert!(!sealed.contains("ck_x"));
        assert_eq!(Seal::new(b"Bearer a", "k").open(&sealed).unwrap(), b"{\"key\":\"ck_x\"}");
        assert_eq!(Seal::new(b"Bearer b", "k").open(&sealed), None);
        assert_eq!(Seal::new(b"Bearer a", "l").open(&sealed), None);
        assert_eq!(Seal::new(b"Bearer a", "k").open("zz"), None);
    }

    #[test]
    fn a_digest_tells_where_a_part_ends() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
    }
}
