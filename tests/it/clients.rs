//! Clients generated from the API document by popular generators (`tests/clients`), in TypeScript
//! and Python: they compile under the strict rules of their languages, and work with the running
//! program.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::process::Program;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oidc/node_modules/.bin/node");

/// Timeout: generating and checking types takes a while on a loaded machine.
const TIMEOUT: Duration = Duration::from_mins(4);

/// A program with a group with a message, and the settings of a client.
struct Scene {
    stack: Stack,
    channel: String,
    names: Vec<Value>,
}

impl Scene {
    async fn start() -> Self {
        let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
        let (group, people) = group(&mut stack).await;
        let channel = group.chat_id;
        stack.line.say(&channel, &people[1].user_id, "hello there").await.unwrap();
        stack.drained().await;
        until("it is found", DEADLINE, async || stack.get("/search?q=hello").await["total"] == 1)
            .await;
        let members = stack.get(&format!("/channels/{channel}/members")).await;
        let members = members["members"].as_array().unwrap();
        let names = members.iter().map(|member| member["displayName"].clone()).collect();
        Self { stack, channel, names }
    }

    /// Stores the document, as served by the program, in that folder.
    async fn document(&self, folder: &Path) {
        let url = format!("http://{}/openapi.json", self.stack.ground.address);
        let document = reqwest::get(url).await.unwrap().bytes().await.unwrap();
        fs::write(folder.join("openapi.json"), document).unwrap();
    }

    /// Returns the arguments of a conversation: address, key, channel.
    fn arguments(&self) -> [String; 3] {
        let address = format!("http://{}", self.stack.ground.address);
        [address, self.stack.key().to_owned(), self.channel.clone()]
    }

    async fn check(&self, said: &str) {
        let said: Value = serde_json::from_str(said).unwrap();
        let me = self.stack.get("/me").await;
        let messages = self.stack.messages(&self.channel).await;
        let texts: Vec<_> = messages.iter().map(|message| &message["content"]).collect();
        let expected = json!({
            "me": me["userId"],
            "picture": me["pictureUrl"],
            "channels": [self.channel],
            "names": self.names,
            "cooldown": 7,
            "mode": "keyword",
            "answer": "9 to 20",
            "updatedBy": me["userId"],
            "removed": true,
            "subscribed": true,
            "texts": texts,
            "sizes": vec![Value::Null; texts.len()],
            "total": 1,
            "hit": "hello there",
            "counted": texts.len(),
            "status": "OK",
            "refused": [403, "permission_denied"],
            "wrong": [400, "invalid_request", "/keywords"],
        });
        assert_eq!(said, expected);
        let config = self.stack.get(&format!("/channels/{}/assistant/config", self.channel)).await;
        assert_eq!(config["assistant"]["qa"]["cooldownSeconds"], 7);
    }
}

/// Runs a tool to its end and returns its output.
async fn run(program: Program, folder: &Path) -> String {
    let mut run = program
        .env("HOME", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1")
        .folder(folder)
        .start();
    let status = run.finish_within(TIMEOUT).await;
    let (said, complaints) = (run.stdout().join("\n"), run.stderr().join("\n"));
    assert!(status.success(), "{status}; tests/run installs what is missing\n{said}\n{complaints}");
    // A generator that leaves something out of the client prints it.
    assert!(
        !(said.clone() + &complaints).to_lowercase().contains("warning"),
        "{said}\n{complaints}"
    );
    said
}

fn copy(folder: &Path, names: &[&str]) {
    for name in names {
        fs::copy(format!("{FOLDER}/{name}"), folder.join(name)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_typescript_client_holds_a_conversation() {
    let (scene, folder) = (Scene::start().await, scratch::folder("client-"));
    let folder = folder.path();
    copy(folder, &["package.json", "tsconfig.json", "conversation.ts"]);
    std::os::unix::fs::symlink(format!("{FOLDER}/node_modules"), folder.join("node_modules"))
        .unwrap();
    scene.document(folder).await;
    let tool = |path: &str| format!("{FOLDER}/node_modules/{path}");
    let generator = tool("openapi-typescript/bin/cli.js");
    let generate = [generator.as_str(), "openapi.json", "--output", "api.ts"];
    run(Program::new(NODE).args(generate), folder).await;
    let compiler = tool("typescript/bin/tsc");
    run(Program::new(NODE).args([compiler.as_str(), "--project", "tsconfig.json"]), folder).await;
    let [address, key, channel] = scene.arguments();
    let conversation = ["built/conversation.js", &address, &key, &channel];
    scene.check(&run(Program::new(NODE).args(conversation), folder).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_python_client_holds_a_conversation() {
    let (scene, folder) = (Scene::start().await, scratch::folder("client-"));
    let folder = folder.path();
    copy(folder, &["conversation.py", "mypy.ini"]);
    scene.document(folder).await;
    let tool = |name: &str| Program::new(&format!("{FOLDER}/.venv/bin/{name}"));
    let path = format!("{FOLDER}/.venv/bin:/usr/bin:/bin");
    let generate = [
        "generate",
        "--path",
        "openapi.json",
        "--meta",
        "none",
        "--output-path",
        "chatkeep_client",
    ];
    run(tool("openapi-python-client").args(generate).env("PATH", path), folder).await;
    run(tool("mypy").args(["conversation.py", "chatkeep_client"]), folder).await;
    let [address, key, channel] = scene.arguments();
    let conversation = ["conversation.py", &address, &key, &channel];
    scene.check(&run(tool("python").args(conversation), folder).await).await;
}

#[tokio::test]
async fn every_operation_has_examples_of_what_it_takes_answers_and_refuses() {
    let folder = scratch::folder("examples-");
    let document = chatkeep_api::openapi().to_json().unwrap();
    fs::write(folder.path().join("openapi.json"), document).unwrap();
    copy(folder.path(), &["examples.py"]);
    let python = Program::new(&format!("{FOLDER}/.venv/bin/python"));
    let said = run(python.args(["examples.py", "openapi.json"]), folder.path()).await;
    let fitting: Value = serde_json::from_str(&said).unwrap();
    let operations = chatkeep_api::catalogue().len();
    let count = |of: &str| usize::try_from(fitting[of].as_u64().unwrap()).unwrap();
    assert!(count("answers") >= operations - 1, "{fitting}: only a file has none");
    assert!(count("refusals") >= 5 * operations && count("requests") >= 15, "{fitting}");
}
