//! A real S3 server (`s3s` with its file system behind it), one for each test that needs one.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;

use axum::Router;
use axum::error_handling::HandleError;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use chatkeep_blobs::Blobs;
use chatkeep_core::config::{BlobsKind, S3Config};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use super::wait::DEADLINE;
use super::{ports, scratch};

const BUCKET: &str = "media";
const PREFIX: &str = "chat/keep";
const KEY: (&str, &str) = ("AKIDTEST", "secret-of-the-test");

/// Server with a port and a store of its own. It runs on threads of its own, so that ending it cuts
/// every connection, as when a machine fails.
pub(crate) struct S3 {
    address: SocketAddr,
    folder: TempDir,
    knows_conditions: bool,
    /// End of the path of requests that wait.
    held: watch::Sender<Option<String>>,
    server: Option<Runtime>,
}

impl S3 {
    /// Starts a server with one empty bucket.
    pub(crate) fn start() -> Self {
        Self::start_as(true)
    }

    /// Starts one that refuses conditional writes, as some stores do.
    pub(crate) fn without_conditions() -> Self {
        Self::start_as(false)
    }

    fn start_as(knows_conditions: bool) -> Self {
        let folder = scratch::folder("s3-");
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let address = ports::free();
        let held = watch::Sender::default();
        let mut s3 = Self { address, folder, knows_conditions, held, server: None };
        s3.restart();
        s3
    }

    /// Ends the server; its data stays.
    pub(crate) fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            // Waits until its port is free, which a runtime allows outside of others alone.
            thread::spawn(move || server.shutdown_timeout(DEADLINE)).join().unwrap();
        }
    }

    /// Starts it again on the same port and store.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(self.folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
        let failed = |_| std::future::ready(StatusCode::INTERNAL_SERVER_ERROR);
        let mut router = Router::new().fallback_service(HandleError::new(service.build(), failed));
        if !self.knows_conditions {
            router = router.layer(middleware::from_fn(refuse_conditions));
        }
        let held = self.held.subscribe();
        let wait = move |request: Request, next: Next| wait(held.clone(), request, next);
        let router = router.layer(middleware::from_fn(wait));
        // Bound here, so that it accepts connections from now on.
        let listener = std::net::TcpListener::bind(self.address).unwrap();
        listener.set_nonblocking(true).unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
        self.server = Some(runtime);
    }

    /// Lets requests for objects whose name ends so wait, until [`Self::release`].
    pub(crate) fn hold(&self, name: &str) {
        self.held.send_replace(Some(name.to_owned()));
    }

    pub(crate) fn release(&self) {
        self.held.send_replace(None);
    }

    /// Returns the settings for chatkeep.
    pub(crate) fn settings(&self) -> (BlobsKind, S3Config) {
        let kind = BlobsKind::S3 { bucket: BUCKET.to_owned(), prefix: PREFIX.to_owned() };
        let s3 = S3Config {
            endpoint: Some(format!("http://{}", self.address)),
            region: "us-east-1".to_owned(),
            access_key_id: Some(KEY.0.into()),
            secret_access_key: Some(KEY.1.into()),
            path_style: true,
        };
        (kind, s3)
    }

    /// Returns the same settings as environment variables.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("CHATKEEP_BLOBS", format!("s3://{BUCKET}/{PREFIX}")),
            ("CHATKEEP_S3_ENDPOINT", format!("http://{}", self.address)),
            ("CHATKEEP_S3_ACCESS_KEY_ID", KEY.0.to_owned()),
            ("CHATKEEP_S3_SECRET_ACCESS_KEY", KEY.1.to_owned()),
        ]
    }

    pub(crate) fn blobs(&self) -> Blobs {
        let (kind, s3) = self.settings();
        Blobs::open(&kind, &s3).unwrap()
    }

    /// Returns the folder of the bucket's objects, each a file.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

async fn wait(mut held: watch::Receiver<Option<String>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_free = |held: &Option<String>| held.as_ref().is_none_or(|name| !path.ends_with(name));
    // Where nobody can release it any more, the test is over.
    drop(held.wait_for(is_free).await);
    next.run(request).await
}

async fn refuse_conditions(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::IF_NONE_MATCH) {
        return StatusCode::NOT_IMPLEMENTED.into_response();
    }
    next.run(request).await
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.kill();
    }
}
