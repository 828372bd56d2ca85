//! The program itself: settings, exit codes, the demo.

use serde_json::{Value, json};

use crate::harness::process::Program;
use crate::harness::wait::until;
use crate::harness::{http, ports, scratch};
use crate::stack::DEADLINE;

/// Arguments, environment, and expected output.
type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_settings_end_it_with_code_2_and_say_why() {
    let cases: [Case; 6] = [
        (&["serve"], &[], "CHATKEEP_LINE_CHANNEL_SECRET is not set"),
        (&["serve"], &[("CHATKEEP_LISTEN", "here")], "environment CHATKEEP_LISTEN"),
        (&["serve", "--roles", "cook"], &[], "allowed: ingress, api, worker"),
        (&["--bus", "amqp://x", "migrate"], &[], "--bus"),
        (&["user", "set-plan", "U1", "gold"], &[], "allowed: free, standard, pro"),
        (&["--config", "/nowhere.toml", "migrate"], &[], "/nowhere.toml"),
    ];
    let folder = scratch::folder("program-");
    for (args, variables, why) in cases {
        let data = folder.path().join("data");
        let mut program = Program::chatkeep()
            .args(args.iter().copied())
            .folder(folder.path())
            .env("CHATKEEP_DATA", &data);
        for (name, value) in variables {
            program = program.env(name, value);
        }
        let mut process = program.start();
        let status = process.finish().await;
        let said = process.stderr().join("\n");
        assert_eq!(status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(why), "{args:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_missing_secrets_are_named_at_once() {
    let folder = scratch::folder("secrets-");
    let several = "[[line]]\nname = \"shop\"\nchannel_secret = \"s\"\n[[line]]\nname = \"help\"\n";
    for (settings, missing) in [
        ("", ["CHATKEEP_LINE_CHANNEL_SECRET", "CHATKEEP_LINE_ACCESS_TOKEN"].as_slice()),
        (
            several,
            &[
                "CHATKEEP_LINE_SHOP_ACCESS_TOKEN",
                "CHATKEEP_LINE_HELP_CHANNEL_SECRET",
                "CHATKEEP_LINE_HELP_ACCESS_TOKEN",
            ],
        ),
    ] {
        std::fs::write(folder.path().join("chatkeep.toml"), settings).unwrap();
        let program = Program::chatkeep().args(["serve"]).folder(folder.path());
        let mut process = program.env("CHATKEEP_CONFIG", "chatkeep.toml").start();
        assert_eq!(process.finish().await.code(), Some(2));
        let said = process.stderr().join("\n");
        for name in missing {
            assert!(said.contains(&format!("{name} is not set")), "{name}: {said}");
        }
        assert_eq!(said.matches("is not set").count(), missing.len(), "{said}");
        assert!(!folder.path().join("data").exists(), "nothing is made before");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_shows_a_group_and_finds_it_again() {
    let folder = scratch::folder("demo-");
    let address = ports::free();
    let mut kept = 0;
    for start in 0..2 {
        let data = folder.path().display().to_string();
        let listen = address.to_string();
        let args = ["--data", &data, "--listen", &listen, "demo"];
        let mut demo = Program::chatkeep().args(args).start();
        demo.line("starting it again finds everything").await;
        let http = http::client(DEADLINE);
        let url = |path: &str| format!("http://{address}{path}");
        let page = http.get(url("/")).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("chatkeep"), "{page}");
        let state: Value = http.get(url("/demo/state")).send().await.unwrap().json().await.unwrap();
        let say = json!({"kind": "say", "userId": state["people"][2]["id"], "text": "營業時間"});
        let told = http.post(url("/demo/act")).json(&say).send().await.unwrap();
        assert!(told.status().is_success());
        let key = state["key"].as_str().unwrap();
        let before = kept;
        // The history, this question and its reply; at the second start two more.
        let expected = if start == 0 { 13 } else { before + 2 };
        until("question and answer are kept", DEADLINE, async || {
            let usage = http.get(url("/api/usage")).bearer_auth(key).send().await.unwrap();
            let usage: Value = usage.json().await.unwrap();
            let group = state["groupId"].as_str().unwrap();
            kept = usage["channels"][group]["messageCount"].as_u64().unwrap_or(0);
            kept >= expected
        })
        .await;
        assert!(demo.terminate().await.success());
    }
}
