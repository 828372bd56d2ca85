//! Tests of the server with slow and with many clients.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use chatkeep_core::http::minimum_rate::MinimumRate;
use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use super::*;

/// Time limit of each wait in a test.
const DEADLINE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);
/// Timeout that never expires in a test.
const LONG: Duration = Duration::from_mins(10);

fn config() -> HttpConfig {
    let least = MinimumRate { window: LONG, bytes_per_second: 1_000 };
    HttpConfig {
        max_connections: 1_000,
        max_per_address: 3,
        max_head: 65_536,
        max_headers: 100,
        max_bodies: 1 << 28,
        header: LONG,
        idle: LONG,
        body: least,
        answer: least,
    }
}

/// A running server.
struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    connections: Arc<Connections>,
    task: JoinHandle<()>,
}

async fn start(config: HttpConfig, drain: Duration) -> Running {
    let zeros = || Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(ZEROS)));
    let rare = || {
        let ticks = tokio_stream::wrappers::IntervalStream::new(tokio::time::interval(SHORT * 2));
        Body::from_stream(ticks.map(|_| Ok::<_, Infallible>("tick\n")).take(4))
    };
    let router = Router::new()
        .route(
            "/",
            get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.ip().to_string() }),
        )
        .route("/webhook/x", post(|body: Bytes| async move { body.len().to_string() }))
        .route("/body", post(|body: Bytes| async move { body.len().to_string() }))
        .route("/zeros", get(async move || zeros()))
        .route("/rare", get(async move || rare()))
        .route("/never", get(std::future::pending::<()>));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let server = Server::new("test", router, config, false);
    let connections = Arc::clone(&server.connections);
    #[expect(clippy::disallowed_methods, reason = "its panic is not to be caught")]
    let task = tokio::spawn(server.run(listener, stop.clone(), drain));
    Running { address, stop, connections, task }
}

const ZEROS: Bytes = Bytes::from_static(&[0; 65_536]);

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Opens a connection and sends this.
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Waits until the server has that many connections.
    async fn knows(&self, count: usize) {
        let known = async {
            while self.connections.count() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, known).await.unwrap();
    }

    /// Waits until that many requests are under way.
    async fn works_on(&self, count: usize) {
        let begun = async {
            while self.connections.under_way() != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, begun).await.unwrap();
    }

    /// Waits until that many bytes of request bodies are held.
    async fn holds(&self, bytes: usize) {
        let held = async {
            while self.connections.held() != bytes {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, held).await.unwrap();
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(DEADLINE, self.task).await.unwrap().unwrap();
    }
}

/// Reads everything until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads until `end` came.
async fn until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let mut part = [0; 1_024];
        let read = tokio::time::timeout(DEADLINE, stream.read(&mut part)).await.unwrap().unwrap();
        assert!(read > 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    text
}

const HELLO: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const WEBHOOK: &str = "POST /webhook/x HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi";

#[tokio::test]
async fn a_head_has_a_time_limit_and_an_idle_connection_another() {
    let server = start(HttpConfig { header: SHORT, ..config() }, LONG).await;
    let (mut silent, mut partial) = (server.connect().await, server.send("GET / HT").await);
    let mut idle = server.send(HELLO).await;
    assert!(until(&mut idle, "127.0.0.1").await.starts_with("HTTP/1.1 200"));
    assert_eq!(rest(&mut silent).await, "");
    let told = rest(&mut partial).await;
    assert!(told.starts_with("HTTP/1.1 408") && told.contains("request_timeout"), "{told}");
    // The next head of a kept-alive connection has the same timeout, from its first byte on: not
    // from its opening, after which another one has timed out.
    let mut later = server.connect().await;
    assert_eq!(rest(&mut later).await, "");
    idle.write_all(HELLO.as_bytes()).await.unwrap();
    until(&mut idle, "127.0.0.1").await;
    idle.write_all(b"GET").await.unwrap();
    assert!(rest(&mut idle).await.starts_with("HTTP/1.1 408"));
    server.end().await;

    let server = start(HttpConfig { idle: SHORT, ..config() }, LONG).await;
    let mut idle = server.send(HELLO).await;
    assert!(rest(&mut idle).await.ends_with("127.0.0.1"), "answered, then closed");
    server.end().await;
}

#[tokio::test]
async fn a_dripping_body_is_answered_408_and_a_steady_one_taken() {
    let body = MinimumRate { window: Duration::from_secs(1), bytes_per_second: 100 };
    let server = start(HttpConfig { body, ..config() }, LONG).await;
    let head = "POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
    let mut slow = server.send(head).await;
    let drip = async {
        loop {
            // Refused once the server has closed.
            if slow.write_all(b"x").await.is_err() {
                return String::new();
            }
            let mut answer = [0; 1_024];
            let wait = Duration::from_millis(100);
            if let Ok(Ok(read)) = tokio::time::timeout(wait, slow.read(&mut answer)).await {
                return String::from_utf8_lossy(&answer[..read]).into_owned();
            }
        }
    };
    let told = tokio::time::timeout(DEADLINE, drip).await.unwrap();
    assert!(told.starts_with("HTTP/1.1 408") && told.contains("request_timeout"), "{told}");
    assert!(told.contains("connection: close"), "{told}");
    let mut steady = server.send(head).await;
    steady.write_all(&[b'x'; 500]).await.unwrap();
    // Twice the window in real time, for sockets do not follow a clock of the test: a client that
    // is slow but steady outlasts it.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        steady.write_all(&[b'x'; 25]).await.unwrap();
    }
    until(&mut steady, "1000").await;
    server.end().await;
}

#[tokio::test]
async fn who_does_not_take_the_answer_is_cut_off_and_a_quiet_stream_is_not() {
    let answer = MinimumRate { window: SHORT, bytes_per_second: 100_000 };
    let server = start(HttpConfig { answer, ..config() }, LONG).await;
    let mut quiet = server.send("GET /rare HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let greedy = server.send("GET /zeros HTTP/1.1\r\nhost: x\r\n\r\n").await;
    server.knows(2).await;
    server.knows(1).await;
    assert_eq!(until(&mut quiet, "0\r\n\r\n").await.matches("tick").count(), 4);
    drop(greedy);
    server.end().await;
}

#[tokio::test]
async fn webhooks_find_room_whatever_else_is_connected() {
    let server = start(HttpConfig { max_connections: 16, ..config() }, LONG).await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(server.connect().await);
    }
    // Requests without a response get three quarters, and not one more.
    let mut busy = Vec::new();
    for _ in 0..12 {
        busy.push(server.send("GET /never HTTP/1.1\r\nhost: x\r\n\r\n").await);
    }
    let full = async {
        loop {
            let mut refused = server.send(HELLO).await;
            let told = rest_or_answer(&mut refused).await;
            if told.starts_with("HTTP/1.1 503") {
                return;
            }
        }
    };
    tokio::time::timeout(DEADLINE, full).await.unwrap();
    for _ in 0..40 {
        let mut webhook = server.send(WEBHOOK).await;
        assert!(until(&mut webhook, "\r\n\r\n2").await.starts_with("HTTP/1.1 200"));
        idle.push(server.connect().await);
    }
    assert!(server.connections.count() <= 16);
    drop(server);
}

/// Reads the beginning of a response, or nothing from an evicted connection.
async fn rest_or_answer(stream: &mut TcpStream) -> String {
    let mut part = [0; 1_024];
    let read = tokio::time::timeout(DEADLINE, stream.read(&mut part)).await.unwrap();
    String::from_utf8_lossy(&part[..read.unwrap_or(0)]).into_owned()
}

const BODY: &str = "POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n";

#[tokio::test]
async fn bodies_share_a_bound_of_memory_and_the_oldest_incomplete_ones_make_way() {
    let config = HttpConfig { max_bodies: 100_000, ..config() };
    let server = start(config, LONG).await;
    let head = |length: usize| {
        format!("POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n")
    };
    let mut incomplete = Vec::new();
    for n in 1..=3 {
        let mut client = server.send(&head(31_000)).await;
        client.write_all("x".repeat(30_000).as_bytes()).await.unwrap();
        server.holds(n * 30_000).await;
        incomplete.push(client);
    }
    // One more fits only in the place of the oldest.
    let mut whole = server.send(&head(20_000)).await;
    whole.write_all("x".repeat(20_000).as_bytes()).await.unwrap();
    assert!(until(&mut whole, "20000").await.starts_with("HTTP/1.1 200"));
    assert_eq!(rest(&mut incomplete[0]).await, "");
    server.holds(60_000).await;
    for client in &mut incomplete[1..] {
        client.write_all(&[b'x'; 1_000]).await.unwrap();
        assert!(until(client, "31000").await.starts_with("HTTP/1.1 200"));
    }
    server.holds(0).await;
    // Alone, it has to fit, too.
    let mut large = server.send(&head(200_000)).await;
    let _ = large.write_all("x".repeat(200_000).as_bytes()).await;
    assert!(rest_or_answer(&mut large).await.starts_with("HTTP/1.1 503"));
    drop(large);
    server.holds(0).await;
    server.end().await;
}

#[tokio::test]
async fn stopping_waits_for_requests_that_were_begun_and_for_nobody_else() {
    // Whoever were waited for would keep the server for longer than the test may take.
    let server = start(config(), LONG).await;
    let (mut silent, mut idle) = (server.connect().await, server.send(HELLO).await);
    until(&mut idle, "127.0.0.1").await;
    let mut finishing = server.send(BODY).await;
    server.knows(3).await;
    server.works_on(1).await;
    server.stop.cancel();
    assert_eq!(rest(&mut idle).await, "");
    assert_eq!(rest(&mut silent).await, "");
    assert!(!server.task.is_finished(), "a request is not finished");
    finishing.write_all(b"ok").await.unwrap();
    assert!(rest(&mut finishing).await.starts_with("HTTP/1.1 200"));
    tokio::time::timeout(DEADLINE, server.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn stopping_does_not_wait_for_ever() {
    let server = start(config(), SHORT).await;
    let mut stalled = server.send(BODY).await;
    let mut never = server.send("GET /never HTTP/1.1\r\nhost: x\r\n\r\n").await;
    server.works_on(2).await;
    server.stop.cancel();
    tokio::time::timeout(DEADLINE, server.task).await.unwrap().unwrap();
    assert_eq!((rest(&mut stalled).await, rest(&mut never).await), (String::new(), String::new()));
}

#[test]
fn an_address_has_a_bound_and_private_ones_have_none() {
    let connections = Arc::new(Connections::new(config(), false));
    let admit = |address: &str| connections.admit(address.parse().unwrap());
    let held: Vec<_> = (0..3).filter_map(|_| admit("198.51.99.1")).collect();
    assert!(held.len() == 3 && admit("198.51.99.1").is_none());
    assert!(admit("198.51.99.2").is_some());
    drop(held);
    assert!(admit("198.51.99.1").is_some());
    // A network is one address.
    let held: Vec<_> = (1..5).filter_map(|n| admit(&format!("2001:4860::{n}"))).collect();
    assert_eq!(held.len(), 3);
    let held: Vec<_> = (0..5).filter_map(|_| admit("127.0.0.1")).collect();
    assert_eq!(held.len(), 5);
    let proxied = Arc::new(Connections::new(config(), true));
    let held: Vec<_> =
        (0..5).filter_map(|_| proxied.admit("198.51.99.1".parse().unwrap())).collect();
    assert_eq!(held.len(), 5);
}

#[tokio::test]
async fn what_hyper_refuses_has_the_form_of_all_errors() {
    let server = start(config(), LONG).await;
    let long = "x".repeat(70_000);
    let many: Vec<_> = (0..100).map(|n| format!("x-{n}: x\r\n")).collect();
    let many = many.concat();
    for (request, status, code) in [
        ("nonsense\r\n\r\n".to_owned(), "400", "invalid_request"),
        (
            format!("GET / HTTP/1.1\r\nhost: x\r\nx-long: {long}\r\n\r\n"),
            "431",
            "headers_too_large",
        ),
        // With the host, one more than there may be.
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"), "431", "headers_too_large"),
        // The bound of the whole head is reached before the one of the address.
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"), "431", "headers_too_large"),
    ] {
        let answer = rest(&mut server.send(&request).await).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["code"], code, "{answer}");
        let id = body["requestId"].as_str().unwrap();
        assert!(head.contains(&format!("x-request-id: {id}")), "{answer}");
        assert!(head.contains("content-type: application/json"), "{answer}");
    }
    server.end().await;
}
