//! Third-party clients: the official Python library and the official Inspector.

use serde_json::{Value, json};

use super::conformance::FOLDER;
use super::{ANN, BO, CHANNEL, Models, NEWEST, message};
use crate::harness::process::Program;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Starts a program with ten messages that can be found.
async fn filled() -> Models {
    let models = Models::start(&[]).await;
    let batch: Vec<_> = (0..10)
        .map(|n| message(&format!("m{n}"), ANN, &format!("2026-01-02T03:04:0{n}Z"), "hello there"))
        .collect();
    models.keep(&batch).await;
    models.stack.ground.command(&models.stack.line, &["reindex"]).await;
    until("all are found", DEADLINE, async || {
        models.call("search_messages", json!({"query": "hello"})).await.given()["total"] == 10
    })
    .await;
    models
}

/// Runs a client and returns its JSON output.
async fn output(program: Program) -> Value {
    let home = scratch::folder("client-");
    let mut run = program.env("HOME", home.path()).folder(home.path()).start();
    let status = run.finish_within(DEADLINE).await;
    let (said, complaints) = (run.stdout().join("\n"), run.stderr().join("\n"));
    assert!(status.success(), "{status}; tests/run installs it\n{said}\n{complaints}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}\n{said}\n{complaints}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_library_goes_through_all_tools() {
    let models = filled().await;
    let bridged = format!("{} {}", env!("CARGO_BIN_EXE_chatkeep"), models.url());
    for (url, mode, revision) in [
        (&models.url(), "legacy", "2025-11-25"),
        (&models.url(), "auto", NEWEST),
        (&models.url(), NEWEST, NEWEST),
        (&bridged, "legacy", "2025-11-25"),
        (&bridged, NEWEST, NEWEST),
    ] {
        let script = format!("{FOLDER}/client.py");
        let client = Program::new(&format!("{FOLDER}/.venv/bin/python"))
            .args([&script, url, "ck_ann", CHANNEL, mode])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONUTF8", "1");
        let said = output(client).await;
        assert_eq!(said["revision"], revision, "{mode}");
        // A client without a handshake gets the server's name with the results.
        assert!(mode == NEWEST || said["server"] == "chatkeep", "{mode}: {said}");
        assert_eq!(said["tools"].as_array().unwrap().len(), super::TOOLS.len());
        let newest_first: Vec<_> = (0..10).rev().map(|n| format!("m{n}")).collect();
        assert_eq!(said["messages"], json!(newest_first), "{mode}");
        assert_eq!(said["channels"], json!([CHANNEL]));
        assert_eq!(said["members"], json!([BO, ANN]));
        assert_eq!(said["total"], 10);
        assert_eq!(said["context"], json!(["m3", "m4", "m5", "m6"]), "{mode}");
        assert_eq!(said["lines"], json!(["m9", "m8", "m7"]), "{mode}");
        assert_eq!((&said["fetched"], &said["resource"]), (&json!(true), &json!(true)), "{mode}");
        assert_eq!((&said["verdict"], &said["templates"]), (&json!("same"), &json!(2)), "{mode}");
        assert_eq!(said["overview"], 0, "{mode}: they are of long ago");
        assert_eq!(said["prompts"], json!(["catch_up", "find_decision"]), "{mode}");
        let prompt = said["prompt"].as_str().unwrap();
        assert!(prompt.contains("get_overview with {\"days\":3}."), "{mode}: {prompt}");
        assert!(said["unknown"].as_str().unwrap().contains("call list_channels"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inspector_finds_nothing_to_complain_about() {
    let models = filled().await;
    let inspect = async |era: &str, more: &[&str]| {
        let inspector = format!("{FOLDER}/node_modules/.bin/mcp-inspector");
        let url = models.url();
        let client = Program::new(&format!("{FOLDER}/node_modules/.bin/node"))
            .args([&inspector, "--cli", "--transport", "http", "--server-url", &url])
            .args(["--header", "Authorization: Bearer ck_ann", "--protocol-era", era])
            .args(more.iter().copied());
        output(client).await
    };
    for era in ["legacy", "modern"] {
        let tools = inspect(era, &["--method", "tools/list", "--strict"]).await;
        assert_eq!(tools["tools"].as_array().unwrap().len(), super::TOOLS.len(), "{era}: {tools}");
        let call = ["--method", "tools/call", "--tool-name"];
        let channels = inspect(era, &[&call[..], &["list_channels"]].concat()).await;
        assert_eq!(channels["structuredContent"]["channels"][0]["channelId"], CHANNEL, "{era}");
        let named = format!("channelId={CHANNEL}");
        let of = ["get_messages", "--tool-arg", &named, "limit=3"];
        let messages = inspect(era, &[&call[..], &of].concat()).await;
        let rows = messages["structuredContent"]["messages"].as_array().unwrap();
        assert_eq!(rows.len(), 3, "{era}: {messages}");
        let of = ["get_context", "--tool-arg", "message=m4", "before=1", "after=0"];
        let context = inspect(era, &[&call[..], &of].concat()).await;
        let rows = super::texts(&context["structuredContent"]["messages"], "id");
        assert_eq!(rows, ["m3", "m4"], "{era}: {context}");
    }
}
