//! Clients that are slow, many, or both, against the program as it is run.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use chatkeep_emulator::Signed;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

const IDLE: usize = 1_000;
const DRIPPING: usize = 200;
const WEBHOOKS: usize = 50;
/// Timeouts that would end the connections of a crowd.
const PATIENT: [&str; 3] =
    ["CHATKEEP_HTTP_HEADER_SECONDS", "CHATKEEP_HTTP_IDLE_SECONDS", "CHATKEEP_HTTP_BODY_SECONDS"];

/// Connections that cost and bring nothing, until they are dropped.
struct Crowd {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Crowd {
    async fn gather(address: SocketAddr) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for n in 0..IDLE + DRIPPING {
            let stream = TcpStream::connect(address).await.unwrap();
            let stop = stop.clone();
            tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
                if n < IDLE {
                    idle(stream, n).await;
                } else {
                    drip(stream, n).await;
                }
                // Closed connections are opened again: this crowd does not get tired, but leaves
                // the machine time for the others.
                loop {
                    let again = TcpStream::connect(address).await;
                    if let Ok(stream) = again {
                        idle(stream, n).await;
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }));
        }
        Self { tasks, stop }
    }

    async fn leave(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Sends nothing, half a head, or one request and nothing more, until it is closed.
async fn idle(mut stream: TcpStream, n: usize) {
    let said = match n % 3 {
        0 => "",
        1 => "GET /healthz HTTP/1.1\r\nhost: ",
        _ => "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    };
    let _ = stream.write_all(said.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
}

/// Sends a body of a megabyte byte by byte, until it is closed. The pauses are in real time, for
/// that is what the program's limits count; no test waits for one.
async fn drip(mut stream: TcpStream, n: usize) {
    let path = if n.is_multiple_of(2) { "/webhook/line" } else { "/api/keys" };
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         x-line-signature: {}=\r\ncontent-length: 1000000\r\n\r\n",
        "A".repeat(43)
    );
    let _ = stream.write_all(head.as_bytes()).await;
    while stream.write_all(b" ").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Sends a webhook over a connection of its own; returns the response.
async fn deliver(address: SocketAddr, signed: &Signed) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /webhook/line HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         x-line-signature: {}\r\ncontent-length: {}\r\n\r\n",
        signed.signature,
        signed.body.len()
    );
    stream.write_all(&[head.as_bytes(), &signed.body].concat()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

/// Returns the number of open connections in the program's metrics.
async fn connections(stack: &Stack) -> f64 {
    let metrics = stack.metrics().await;
    let name = "chatkeep_http_connections{listener=\"service\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_keep_flowing_beside_a_slow_crowd_and_stopping_does_not_wait_for_it() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    ground.settings.push(("CHATKEEP_HTTP_MAX_CONNECTIONS", "800".to_owned()));
    ground.settings.push(("CHATKEEP_SHUTDOWN_DRAIN_SECONDS", "4".to_owned()));
    // Longer than any wait of this test, so that nobody disconnects by themselves.
    ground.settings.extend(PATIENT.map(|name| (name, "300".to_owned())));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    let crowd = Crowd::gather(stack.ground.address).await;
    until("the crowd is there", DEADLINE, async || connections(&stack).await >= 700.0).await;
    for n in 0..WEBHOOKS {
        // A new client each time: a connection of its own.
        let body = json!({"events": [{
            "type": "message", "webhookEventId": format!("E{n}"), "mode": "active",
            "timestamp": 1_767_323_045_678_i64 + i64::try_from(n).unwrap(),
            "source": {"type": "group", "groupId": chat.chat_id, "userId": people[0].user_id},
            "message": {"id": format!("m{n}"), "type": "text", "text": "through the crowd"},
        }]});
        let signed = stack.line.sign_raw(body.to_string());
        let said = deliver(stack.ground.address, &signed).await;
        assert!(said.starts_with("HTTP/1.1 200"), "{said:?}");
    }
    assert!(stack.ready().await);
    assert!(connections(&stack).await <= 800.0);

    // Each of the crowd could hold it for longer than the wait for its end.
    assert!(stack.process.terminate().await.success());
    crowd.leave().await;
    stack.process = stack.ground.serve(&stack.line).await;
    until("everything that was taken is kept", DEADLINE, async || {
        let all = stack.messages(&chat.chat_id).await;
        all.iter().filter(|message| message["content"] == "through the crowd").count() == WEBHOOKS
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_fits_stays_and_others_are_served() {
    let mut ground = TestEnv::new(Parts::Embedded).await;
    // Longer than any wait of this test, so that the crowd stays.
    ground.settings.extend(PATIENT.map(|name| (name, "300".to_owned())));
    let mut stack = Stack::on(ground, emulator().await).await;
    let (chat, people) = group(&mut stack).await;
    let crowd = Crowd::gather(stack.ground.address).await;
    let all = f64::from(u32::try_from(IDLE + DRIPPING).unwrap());
    until("the crowd is there", DEADLINE, async || connections(&stack).await >= all).await;
    let before = stack.messages(&chat.chat_id).await.len();
    for n in 0..WEBHOOKS {
        let text = format!("beside the crowd {n}");
        let told = stack.line.say(&chat.chat_id, &people[0].user_id, &text).await.unwrap();
        assert!(told.is_accepted(), "{:?}", told.delivery);
        stack.get("/me").await;
        let rules = format!("/channels/{}/assistant/rules", chat.chat_id);
        stack.put(&rules, json!({"content": text})).await;
    }
    until("everything is kept", DEADLINE, async || {
        stack.messages(&chat.chat_id).await.len() >= before + WEBHOOKS
    })
    .await;
    let metrics = stack.metrics().await;
    let closed = metrics.lines().filter(|line| line.starts_with("chatkeep_http_closed_total"));
    let closed: Vec<_> = closed.collect();
    assert!(!closed.iter().any(|line| line.contains("room")), "nobody had to go: {closed:?}");
    let present = connections(&stack).await;
    assert!(present >= all, "{present} of {all} are still connected: {closed:?}");
    until("it is ready", DEADLINE, async || stack.ready().await).await;
    stack.process.kill().await;
    crowd.leave().await;
}

/// Returns every file and folder below `folder` with permissions for other users.
fn open_to_others(folder: &std::path::Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let (inside, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        let all = files.iter().chain([&folder]);
        let open = all.filter(|path| path.exists() && mode(path) & 0o077 != 0);
        found.extend(open.map(|path| format!("{}: {:o}", path.display(), mode(path))));
        folders.extend(inside);
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_readable_by_nobody_else() {
    use std::os::unix::fs::PermissionsExt as _;

    let ground = TestEnv::bare(Parts::Embedded).await;
    // As left by an earlier version, under the umask of most systems.
    fs::set_permissions(ground.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let line = emulator().await;
    let open = |args: &[&str]| {
        let words = args.join(" ");
        let program = env!("CARGO_BIN_EXE_chatkeep");
        let script = format!("umask 022; exec {program} {words}");
        ground.shell(&line, &script)
    };
    let mut process = open(&["serve"]).start();
    process.ready(ground.address, "/readyz").await;
    assert_eq!(open_to_others(ground.folder.path()), Vec::<String>::new());
    assert!(process.terminate().await.success());
    assert!(ground.folder.path().join("chatkeep.db").exists());
    assert_eq!(open_to_others(ground.folder.path()), Vec::<String>::new());
}
