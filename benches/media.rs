//! Files from the emulated platform into the media store, beside `curl` of the same files to a
//! folder. `cargo bench --bench media`.

#[path = "../tests/it/harness/mod.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the benches use a part of the test bench")]
mod harness;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use chatkeep_core::time::{Clock as _, SystemClock};
use chatkeep_emulator::{Action, Emulator, Media, Options, Post};
use harness::process::{Process, Program};
use harness::{http, ports, scratch};
use reqwest::Client;
use serde_json::{Value, json};

/// Size of the video, in bytes.
const LARGE: usize = 300_000_000;
/// Size of each picture in bytes, and number of pictures.
const SMALL: (usize, usize) = (1_000_000, 500);
/// Concurrent downloads, here and with curl.
const PARALLEL: usize = 8;
const SECRETS: (&str, &str) = ("bench-secret", "bench-token");
const MIB: f64 = 1_048_576.0;

struct Scene {
    line: Emulator,
    process: Process,
    client: Client,
    api: String,
    key: String,
    group: String,
    user: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let folder = scratch::folder("bench-");
    let mut scene = Scene::new(folder.path()).await?;
    let before = scene.process.peak_bytes();
    let video = Media::new("video/mp4", vec![7; LARGE]);
    scene.measure("one video of 300 MB", vec![Post::Video(video, 600_000)], LARGE).await?;
    let peak = scene.process.peak_bytes();
    println!("memory: {:.0} MiB before, at most {:.0} MiB", mib(before), mib(peak));
    let small = |n: usize| {
        let mut bytes = n.to_le_bytes().repeat(SMALL.0 / 8);
        bytes.truncate(SMALL.0);
        Post::Image(Media::new("image/png", bytes))
    };
    let pictures = (0..SMALL.1).map(small).collect();
    scene.measure("500 pictures of 1 MB", pictures, SMALL.0 * SMALL.1).await?;
    scene.process.kill().await;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB
}

impl Scene {
    async fn new(folder: &Path) -> Result<Self> {
        let mut options = Options::new(Arc::new(|| SystemClock.now().millis()));
        (options.channel_secret, options.access_token) = (SECRETS.0.into(), SECRETS.1.into());
        let (line, address) = (Emulator::start(options).await?, ports::free());
        line.set_webhook_url(Some(format!("http://{address}/webhook/line")));
        let program = |args: &[&str]| {
            Program::chatkeep()
                .args(args.iter().copied())
                .env("CHATKEEP_DATA", folder)
                .env("CHATKEEP_LISTEN", address.to_string())
                .env("CHATKEEP_METRICS_LISTEN", "")
                .env("CHATKEEP_RATE_LIMIT_PER_MINUTE", "0")
                .env("CHATKEEP_MEDIA_PARALLEL", PARALLEL.to_string())
                .env("CHATKEEP_LINE_CHANNEL_SECRET", SECRETS.0)
                .env("CHATKEEP_LINE_ACCESS_TOKEN", SECRETS.1)
                .env("CHATKEEP_LINE_API_BASE", line.api_base())
                .env("CHATKEEP_LINE_DATA_API_BASE", line.api_base())
        };
        let mut process = program(&["serve"]).start();
        process.ready(address, "/readyz").await;
        let user = line.add_user("Ann", None).user_id;
        let group = line.add_group("Bench", None, &[&user]).chat_id;
        line.bot_joins(&group).await?;
        line.say(&group, &user, "hello").await?;
        // The free plan's quota is smaller than the files.
        let mut added = program(&["user", "add", &user, "--plan", "pro"]).start();
        ensure!(added.finish().await.success(), "no user: {:?}", added.stderr());
        let mut made = program(&["key", "create", "--user", &user]).start();
        ensure!(made.finish().await.success(), "no key: {:?}", made.stderr());
        let key = made.stdout().join("");
        let api = format!("http://{address}/api/channels/{group}");
        let client = http::client(Duration::from_mins(1));
        let scene = Self { line, process, client, api, key, group, user };
        scene.until(|answer| answer["meta"].is_object(), "").await?;
        let subscribe = format!("{}/backup/subscribe", scene.api);
        scene.client.post(subscribe).bearer_auth(&scene.key).json(&json!({})).send().await?;
        Ok(scene)
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let answer = self.client.get(format!("{}{path}", self.api)).bearer_auth(&self.key);
        Ok(answer.send().await?.json().await?)
    }

    async fn until(&self, condition: impl Fn(&Value) -> bool, path: &str) -> Result<()> {
        while !condition(&self.get(path).await?) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Posts the files and waits until all are stored; then fetches the same files with curl.
    async fn measure(&self, what: &str, posts: Vec<Post>, bytes: usize) -> Result<()> {
        let (mut ids, mut webhooks) = (Vec::new(), Vec::new());
        for post in posts {
            let (chat, user) = (self.group.clone(), self.user.clone());
            let events = self.line.build(Action::Send { chat, user, post })?;
            ids.push(events[0].message_id.clone().context("no message")?);
            webhooks.push(self.line.webhook(events));
        }
        let start = Instant::now();
        let deliveries = self.line.deliver_all(webhooks, PARALLEL).await;
        ensure!(deliveries.iter().all(|delivery| delivery.accepted), "not accepted");
        for id in &ids {
            let stored = |answer: &Value| answer["mediaStatus"] == "stored";
            self.until(stored, &format!("/backup/messages/{id}")).await?;
        }
        let took = start.elapsed().as_secs_f64();
        let curl = tokio::task::block_in_place(|| self.curl(&ids))?.as_secs_f64();
        let size = mib(u64::try_from(bytes)?);
        println!(
            "{what}: {took:.2} s, {:.0} MiB/s; curl {curl:.2} s, {:.0} MiB/s",
            size / took,
            size / curl
        );
        Ok(())
    }

    /// Downloads the same files to a folder with one curl.
    fn curl(&self, ids: &[String]) -> Result<Duration> {
        let folder = scratch::folder("curl-");
        let mut list = String::new();
        for id in ids {
            let (base, to) = (self.line.api_base(), folder.path().join(id));
            writeln!(list, "url = \"{base}/v2/bot/message/{id}/content\"")?;
            writeln!(list, "output = \"{}\"", to.display())?;
        }
        let config = folder.path().join("list");
        std::fs::write(&config, list)?;
        let start = Instant::now();
        let status = Command::new("curl")
            .args(["-sSf", "--no-progress-meter", "-Z", "--parallel-max", &PARALLEL.to_string()])
            .args(["-H", &format!("Authorization: Bearer {}", SECRETS.1), "-K"])
            .arg(&config)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "curl: {status}");
        Ok(start.elapsed())
    }
}
