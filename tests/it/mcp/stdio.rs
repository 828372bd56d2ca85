//! The bridge for clients that start programs, and the settings that it writes for them.

use serde_json::{Value, json};

use super::Models;
use crate::harness::process::Program;
use crate::harness::{ports, scratch};

/// Runs the bridge over these lines, until they are answered; returns the answers by id, and what it
/// said beside.
async fn bridged(url: &str, key: &str, lines: &[String]) -> (Vec<Value>, String) {
    let folder = scratch::folder("bridge-");
    let file = folder.path().join("messages");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let script = format!(
        "exec {} mcp stdio --url {url} <{}",
        env!("CARGO_BIN_EXE_chatkeep"),
        file.display()
    );
    let mut run = Program::new("sh").args(["-c", &script]).env("CHATKEEP_KEY", key).start();
    let status = run.finish().await;
    let said = run.stderr().join("\n");
    assert!(status.success() && !said.contains(key), "{status} {said}");
    let mut answers: Vec<Value> =
        run.stdout().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_i64());
    (answers, said)
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_is_answered_once_and_notifications_are_not() {
    let models = Models::start(&[]).await;
    let call = |id| request(id, "tools/call", &json!({"name": "list_channels", "arguments": {}}));
    let mut lines: Vec<_> = (1..=20).map(call).collect();
    lines.extend([
        String::new(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/unheard-of"}).to_string(),
        request(21, "no/such/method", &json!({})),
        "not JSON".to_owned(),
        format!("{{\"text\": \"{}\"}}", "x".repeat(1_100_000)),
        call(22),
    ]);
    let (answers, _) = bridged(&models.url(), "ck_ann", &lines).await;
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    let expected = [Value::Null, Value::Null].into_iter().chain((1..=22).map(Value::from));
    assert_eq!(ids, expected.collect::<Vec<_>>());
    for answer in &answers[..2] {
        assert_eq!(answer["error"]["code"], -32_700, "{answer}");
    }
    for answer in answers[2..].iter().filter(|answer| answer["id"] != 21) {
        assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    }
    let unknown = answers.iter().find(|answer| answer["id"] == 21).unwrap();
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_service_refuses_or_does_not_answer_is_an_error_of_the_request() {
    let models = Models::start(&[]).await;
    let lines = [request(1, "tools/list", &json!({}))];
    let nobody = format!("http://{}/mcp", ports::free());
    for (url, key, why) in [
        (models.url(), "ck_wrong", "401"),
        (format!("{}/elsewhere", models.url()), "ck_ann", "404"),
        (nobody, "ck_ann", "cannot reach http://"),
    ] {
        let (answers, said) = bridged(&url, key, &lines).await;
        let [answer] = &answers[..] else { panic!("{answers:?}") };
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(answer["id"] == 1 && message.contains(why), "{answer}");
        assert!(said.contains(why), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_clients_are_written_for_their_owner() {
    let folder = scratch::folder("clients-");
    let home = folder.path();
    let run = async |client: &str, more: &[&str], code: i32| {
        let mut run = Program::chatkeep()
            .args(["mcp", "config", "--url", "https://chat.example.org", "--client", client])
            .args(more.iter().copied())
            .folder(home)
            .env("HOME", home)
            .env("CHATKEEP_KEY", "ck_secret")
            .start();
        let status = run.finish().await;
        let said = run.stderr().join("\n");
        assert_eq!(status.code(), Some(code), "{client}: {said}");
        (run.stdout().join("\n"), said)
    };
    let files = [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ];
    for (client, file) in files {
        let (told, said) = run(client, &["--write"], 0).await;
        assert!(told.is_empty() && !said.contains("ck_secret"), "{told} {said}");
        let text = std::fs::read_to_string(home.join(file)).unwrap();
        assert!(text.contains("https://chat.example.org/mcp"), "{text}");
        // A project's file is shared.
        let named = ["claude-code", "vscode", "codex"].contains(&client);
        assert_eq!(text.contains("ck_secret"), !named, "{text}");
        let (printed, _) = run(client, &[], 0).await;
        assert!(printed.contains("https://chat.example.org/mcp"), "{printed}");
    }
    run("codex", &["--write"], 1).await;
    std::fs::write(home.join(".cursor/mcp.json"), "// mine\n{}").unwrap();
    let (_, said) = run("cursor", &["--write"], 1).await;
    assert!(said.contains(".cursor/mcp.json was left as it is"), "{said}");
    assert_eq!(std::fs::read_to_string(home.join(".cursor/mcp.json")).unwrap(), "// mine\n{}");
    let (_, said) = run("chatgpt", &[], 2).await;
    assert!(said.contains("--sign-in"), "{said}");
    let (told, _) = run("chatgpt", &["--sign-in"], 0).await;
    assert_eq!(told, "https://chat.example.org/mcp");
    run("chatgpt", &["--sign-in", "--write"], 2).await;
}
