//! Requests whose caller leaves: what changes something is finished, what only reads is cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::any;
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::{answered, json_of};
use crate::{run_to_completion, with_common_layers};

/// Surface whose handlers wait at a gate.
struct Gated {
    router: Router,
    tasks: TaskTracker,
    gate: Arc<Semaphore>,
    finished: Arc<AtomicUsize>,
}

impl Gated {
    fn new() -> Self {
        let (gate, finished) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (own_gate, count) = (Arc::clone(&gate), Arc::clone(&finished));
        let work = move || async move {
            let _entry = own_gate.acquire().await;
            count.fetch_add(1, Ordering::SeqCst);
            "done"
        };
        let tasks = TaskTracker::new();
        let router = Router::new().route("/{*path}", any(work));
        let router = router.layer(from_fn_with_state(tasks.clone(), run_to_completion));
        Self { router, tasks, gate, finished }
    }

    fn request(method: &Method, path: &str) -> Request<Body> {
        Request::builder().method(method).uri(path).body(Body::empty()).unwrap()
    }

    /// Sends a request, leaves before it is answered, and opens the gate; returns the number of
    /// those that were finished.
    async fn left(self, method: &Method, path: &str) -> usize {
        let mut call = Box::pin(self.router.clone().oneshot(Self::request(method, path)));
        assert!((&mut call).now_or_never().is_none(), "{method} {path} waits at the gate");
        tokio::task::yield_now().await;
        drop(call);
        self.gate.add_permits(1);
        self.tasks.close();
        self.tasks.wait().await;
        self.finished.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn what_changes_something_is_finished_without_its_caller() {
    for (method, path) in [
        (Method::POST, "/api/keys"),
        (Method::PUT, "/api/me/notices"),
        (Method::PATCH, "/x"),
        (Method::DELETE, "/api/keys/1"),
        (Method::GET, "/auth/callback?code=x"),
        (Method::GET, "/oauth/authorize"),
    ] {
        assert_eq!(Gated::new().left(&method, path).await, 1, "{method} {path}");
    }
}

#[tokio::test]
async fn what_only_reads_is_cut_off() {
    for (method, path) in [
        (Method::GET, "/api/channels"),
        (Method::HEAD, "/api/channels"),
        (Method::OPTIONS, "/api/keys"),
        (Method::GET, "/authors"),
        (Method::GET, "/console/auth/"),
    ] {
        assert_eq!(Gated::new().left(&method, path).await, 0, "{method} {path}");
    }
}

#[tokio::test]
async fn a_caller_who_stays_gets_the_answer_and_no_request_is_lost_at_the_end() {
    let gated = Gated::new();
    gated.gate.add_permits(1);
    let request = Gated::request(&Method::POST, "/api/keys");
    assert_eq!(answered(&gated.router, request).await.body(), "done");
    // Once the process stops, those that come are still tracked.
    gated.tasks.close();
    let request = Gated::request(&Method::POST, "/api/keys");
    assert_eq!(answered(&gated.router, request).await.status(), StatusCode::OK);
    assert_eq!(gated.finished.load(Ordering::SeqCst), 2);
}

fn broken() -> StatusCode {
    panic!("a defect")
}

#[tokio::test]
async fn a_defect_in_a_change_is_an_answer() {
    let tasks = TaskTracker::new();
    let router = Router::new().route("/", any(|| async { broken() }));
    let router = router.layer(from_fn_with_state(tasks.clone(), run_to_completion));
    let router = with_common_layers(router);
    for method in [Method::POST, Method::GET] {
        let answer = answered(&router, Gated::request(&method, "/")).await;
        let code = json_of(&answer)["code"].clone();
        assert_eq!((answer.status().as_u16(), code), (500, "internal".into()), "{method}");
    }
    tasks.close();
    tasks.wait().await;
}
