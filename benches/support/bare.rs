//! The baseline for the ingress: the least a server must do for a webhook. It checks the signature,
//! parses the body and awaits one `JetStream` publish with a message id; nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, stream};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::serve::ListenerExt;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::net::TcpListener;

/// Path that webhooks are posted to.
pub(crate) const PATH: &str = "/webhook/line";

const STREAM: &str = "BARE";
const SUBJECT: &str = "bare.event";

struct Bare {
    bus: jetstream::Context,
    mac: Hmac<Sha256>,
}

/// Starts the server on the current runtime, with a file stream of its own; returns its address.
///
/// `duplicate_window` must be the one of the server it is compared with: the ids `JetStream`
/// remembers cost time.
pub(crate) async fn serve(
    nats_url: &str,
    secret: &str,
    duplicate_window: Duration,
) -> Result<SocketAddr> {
    let bus = jetstream::new(async_nats::connect(nats_url).await?);
    bus.create_stream(stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![SUBJECT.to_owned()],
        duplicate_window,
        ..stream::Config::default()
    })
    .await?;
    let mac = Hmac::new_from_slice(secret.as_bytes())?;
    let app = Router::new().route(PATH, post(receive)).with_state(Arc::new(Bare { bus, mac }));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}

async fn receive(State(bare): State<Arc<Bare>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if !bare.signed(&headers, &body) {
        return StatusCode::UNAUTHORIZED;
    }
    let Some(id) = event_id(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    match bare.publish(&id, body).await {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl Bare {
    fn signed(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let signature = headers.get("x-line-signature");
        let Some(Ok(signature)) = signature.map(|text| STANDARD.decode(text.as_bytes())) else {
            return false;
        };
        self.mac.clone().chain_update(body).verify_slice(&signature).is_ok()
    }

    async fn publish(&self, id: &str, body: Bytes) -> Result<()> {
        let message = PublishMessage::build().payload(body).message_id(id);
        self.bus.send_publish(SUBJECT, message).await?.await?;
        Ok(())
    }
}

/// Returns the id of the body's only event.
fn event_id(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(body.get("events")?.get(0)?.get("webhookEventId")?.as_str()?.to_owned())
}
