//! A machine whose clock is wrong: the service goes by the platform's.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chatkeep_emulator::{Emulator, Fault, Options, Target};
use serde_json::{Value, json};

use crate::harness::wait::until;
use crate::pipeline::conversation::group;
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack};

on_both!(
    nothing_is_lost_by_a_clock_that_is_months_ahead,
    nothing_is_lost_by_a_clock_that_is_corrected_late,
);

/// Days by which the machine is ahead of the platform.
const AHEAD: i64 = 120;

/// Starts a platform whose time is that of months ago.
async fn earlier_platform() -> Emulator {
    let clock = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(now.as_millis()).unwrap() - AHEAD * 86_400_000
    };
    Emulator::start(Options::new(Arc::new(clock))).await.unwrap()
}

async fn nothing_is_lost_by_a_clock_that_is_months_ahead(parts: Parts) {
    nothing_is_lost(Stack::start(parts, earlier_platform().await).await).await;
}

async fn nothing_is_lost_by_a_clock_that_is_corrected_late(parts: Parts) {
    let platform = earlier_platform().await;
    // Such answers say nothing about the clock.
    platform.fail_next(Target::Any, usize::MAX, Fault::Delay(Duration::from_secs(4)));
    nothing_is_lost(Stack::start(parts, platform).await).await;
}

async fn nothing_is_lost(mut stack: Stack) {
    let (group, people) = group(&mut stack).await;
    stack.line.clear_faults();
    let (chat, ann) = (group.chat_id.as_str(), people[0].user_id.as_str());
    let told = async || {
        let url = format!("http://{}/readyz", stack.ground.address);
        let ready: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
        ready["problems"].to_string().contains("seconds ahead of LINE's")
    };
    until("the wrong clock is told", DEADLINE, told).await;
    let corrects = |line: &String| line.contains("its times are corrected by the platform's");
    until("it is corrected", DEADLINE, async || stack.process.stderr().iter().any(corrects)).await;
    // Its answers are not late by the platform's time.
    stack.line.say(chat, ann, "wifi").await.unwrap();
    stack.kept(chat, 2).await;
    let path = format!("/channels/{chat}/backup/config");
    stack.put(&path, json!({"retentionDays": 90})).await;
    let made = stack.post("/keys", json!({"name": "now", "scopes": ["read:messages"]})).await;
    let made = millis_of(&made["createdAt"]);
    assert!((made - stack.line.now()).abs() < 60_000, "{made}");
    // The next process removes what is too old once it knows the time.
    stack.crash().await;
    until("retention has run", DEADLINE, async || {
        stack.metrics().await.contains("chatkeep_job_runs_total{name=\"retention\"} 1")
    })
    .await;
    stack.line.say(chat, ann, "hello again").await.unwrap();
    stack.kept(chat, 3).await;
    let coverage = stack.get(&format!("/channels/{chat}/backup/coverage")).await;
    assert_eq!(coverage["removedBefore"], Value::Null, "{coverage}");
    let gaps = coverage["gaps"].as_array().unwrap();
    assert!(gaps.iter().all(|gap| gap["reason"] != "outage"), "{coverage}");
}

fn millis_of(time: &Value) -> i64 {
    chrono::DateTime::parse_from_rfc3339(time.as_str().unwrap()).unwrap().timestamp_millis()
}
