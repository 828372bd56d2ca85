//! The demo: its page in a real browser, and what its group allows.

mod group;
mod history;
mod page;
mod panes;

use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};
use tempfile::TempDir;

use crate::harness::process::{Process, Program};
use crate::harness::wait::until;
use crate::harness::{http, ports, scratch};
use crate::stack::DEADLINE;

/// A running demo.
struct Demo {
    process: Process,
    base: String,
    http: reqwest::Client,
    state: Value,
}

impl Demo {
    /// Starts the demo with one group in a folder and waits until it is there.
    async fn start(folder: &TempDir) -> Self {
        Self::with(folder, "small").await
    }

    /// Does the same with a sample of that size.
    async fn with(folder: &TempDir, sample: &str) -> Self {
        let address = ports::free();
        let (data, listen) = (folder.path().display().to_string(), address.to_string());
        let args = ["--data", &data, "--listen", &listen, "demo", "--sample", sample];
        let mut process = Program::chatkeep().args(args).start();
        process.line("starting it again finds everything").await;
        let (base, http) = (format!("http://{address}"), http::client(DEADLINE));
        let mut demo = Self { process, base, http, state: Value::Null };
        demo.look().await;
        demo
    }

    /// Kills the first start in a folder while it writes the histories. False when it was through.
    async fn interrupted(folder: &TempDir) -> bool {
        let (data, listen) = (folder.path().display().to_string(), ports::free().to_string());
        let args = ["--data", &data, "--listen", &listen, "demo"];
        let mut process = Program::chatkeep().args(args).start();
        let (mark, file) = ("demo/history-unfinished", "demo/chatkeep.db");
        let [mark, file] = [mark, file].map(|file| folder.path().join(file));
        let begun = async || {
            // Before there is a database, there are no messages.
            let store = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await;
            let Ok(mut store) = store else { return false };
            let count = sqlx::query_scalar("SELECT count(*) FROM messages").fetch_one(&mut store);
            count.await.is_ok_and(|count: i64| count > 100)
        };
        until("the histories to begin", DEADLINE, begun).await;
        process.kill().await;
        mark.exists()
    }

    /// Reads the page's state anew.
    async fn look(&mut self) {
        let state = self.http.get(format!("{}/demo/state", self.base)).send().await.unwrap();
        self.state = state.json().await.unwrap();
    }

    fn key(&self) -> &str {
        self.state["key"].as_str().unwrap()
    }

    /// The id of a person of the group, who is number `number`.
    fn person(&self, number: usize) -> &str {
        self.state["people"][number]["id"].as_str().unwrap()
    }

    /// The names of `people` or of those `outside`.
    fn names(&self, of: &str) -> Vec<String> {
        let people = self.state[of].as_array().unwrap();
        people.iter().map(|person| person["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Lets something happen in LINE: the status and what was answered.
    async fn act(&self, action: &Value) -> (u16, Value) {
        let request = self.http.post(format!("{}/demo/act", self.base)).json(action);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn say(&self, person: usize, text: &str) {
        let say = json!({"kind": "say", "userId": self.person(person), "text": text});
        assert_eq!(self.act(&say).await.0, 200, "{text}");
    }

    /// Reads from the API of the group.
    async fn get(&self, path: &str) -> Value {
        let group = self.state["groupId"].as_str().unwrap();
        let url = format!("{}/api/channels/{group}/{path}", self.base);
        let answer = self.http.get(url).bearer_auth(self.key()).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    }

    /// Waits for a message among the newest that fits.
    async fn message(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        until(what, DEADLINE, async || {
            let page = self.get("backup/messages?limit=20").await;
            found = page["messages"].as_array().unwrap().iter().find(|m| fits(m)).cloned();
            found.is_some()
        })
        .await;
        found.unwrap_or_default()
    }

    /// Returns what `chatkeep doctor` says about its folder, which it has left.
    async fn doctor(folder: &TempDir) -> (bool, Vec<String>) {
        let own = folder.path().join("demo").display().to_string();
        let mut doctor = Program::chatkeep().args(["--data", &own, "doctor"]).start();
        (doctor.finish().await.success(), doctor.stdout())
    }

    /// Ends it as Ctrl-C does.
    async fn stop(mut self) {
        assert!(self.process.terminate().await.success());
    }
}
