//! The official verifiers of Standard Webhooks (`tests/hooks`), in Python and JavaScript.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use super::sink::Received;
use crate::harness::process::Program;
use crate::harness::scratch;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hooks");

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns it in the form of the verifiers' input.
    pub(crate) fn to_verify(&self, secret: &str) -> Value {
        json!({"secret": secret, "headers": self.headers, "body": self.body})
    }
}

/// Checks that both accept every delivery.
pub(crate) async fn all(cases: &[Value]) {
    assert!(!cases.is_empty());
    assert_eq!(accepted(cases).await, vec![(true, true); cases.len()]);
}

/// Checks that both reject every delivery.
pub(crate) async fn none(cases: &[Value]) {
    assert_eq!(accepted(cases).await, vec![(false, false); cases.len()]);
}

async fn accepted(cases: &[Value]) -> Vec<(bool, bool)> {
    let folder = scratch::folder("hooks-");
    let file = folder.path().join("cases");
    let mut lines = String::new();
    for case in cases {
        writeln!(lines, "{case}").unwrap();
    }
    fs::write(&file, lines).unwrap();
    let python = run(".venv/bin/python", "verify.py", file.to_str().unwrap()).await;
    let node = format!("{}/tests/oidc/node_modules/.bin/node", env!("CARGO_MANIFEST_DIR"));
    let script = run(&node, "verify.mjs", file.to_str().unwrap()).await;
    assert_eq!((python.len(), script.len()), (cases.len(), cases.len()));
    python.into_iter().zip(script).collect()
}

async fn run(program: &str, script: &str, file: &str) -> Vec<bool> {
    let program =
        if program.starts_with('/') { program.to_owned() } else { format!("{FOLDER}/{program}") };
    let mut process = Program::new(&program)
        .args([script, file])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .folder(FOLDER)
        .start();
    let status = process.finish().await;
    let said = process.stderr().join("\n");
    assert!(status.success(), "{status}; tests/run installs what is missing\n{said}");
    process.stdout().iter().map(|line| line == "accepted").collect()
}
