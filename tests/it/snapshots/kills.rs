//! Snapshots and restorations that are killed at any moment, while the service stores what people
//! write: what verifies can be restored, and no folder looks whole that is not.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Scene;
use crate::harness::process::Process;

/// Number of kills, unless the environment sets another.
const KILLS: u32 = 12;
/// Variable that sets it.
const VARIABLE: &str = "CHATKEEP_TEST_KILLS";

/// Fates of the commands that were to be killed.
#[derive(Debug, Default)]
struct Tally {
    killed: u32,
    /// The command was faster.
    ended: u32,
    /// Snapshots that are there afterwards, or new folders.
    whole: u32,
}

/// Runs a command for a random part of `usual`, and kills it. Returns whether it had ended before.
async fn killed_in(mut process: Process, usual: Duration) -> bool {
    let share = f64::from(u32::try_from(random() >> 32).unwrap()) / f64::from(u32::MAX);
    // The moment is the point of the test: anything from the start to well after the usual end,
    // which comes later on a busy machine.
    let ended = tokio::time::timeout(usual.mul_f64(share * 2.5), process.finish()).await;
    process.kill().await;
    ended.is_ok_and(|status| status.success())
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the ids of the whole snapshots.
async fn whole(scene: &Scene) -> BTreeSet<String> {
    let (code, list) = scene.run(&["snapshot", "list", "--json"]).await;
    assert_eq!(code, Some(0), "{list}");
    let lines = list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let whole = lines.filter(|line| line["manifest"].is_object());
    whole.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

/// Checks a snapshot that is there: it verifies, and is restored with everything.
async fn sound(scene: &Scene, id: &str, folder: &Path) {
    let (code, said) = scene.run(&["snapshot", "verify", id]).await;
    assert_eq!(code, Some(0), "{said}");
    scene.restore(id, folder, &[]).await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_moment_leaves_only_what_can_be_restored() {
    let kills = std::env::var(VARIABLE).map_or(KILLS, |text| text.parse().unwrap());
    // However many are made, the first one stays.
    let scene = Scene::new(&[("CHATKEEP_SNAPSHOT_KEEP", "1000".to_owned())]).await;
    for n in 0..6_u8 {
        scene.send(&vec![n; 200_000]).await;
    }
    let folder = scene.new_folder("restored");
    let place = folder.display().to_string();
    let started = Instant::now();
    let first = scene.snapshot().await;
    let usual_creation = started.elapsed();
    let started = Instant::now();
    scene.restore(&first, &folder, &[]).await;
    let usual_restoration = started.elapsed();
    std::fs::remove_dir_all(&folder).unwrap();

    let (mut creations, mut restorations) = (Tally::default(), Tally::default());
    let mut known = BTreeSet::from([first.clone()]);
    for round in 0..kills {
        let (chat, user) = (&scene.group.chat_id, &scene.people[1].user_id);
        scene.stack.line.say(chat, user, &format!("in round {round}")).await.unwrap();
        let program = |args: &[&str]| scene.stack.ground.program(&scene.stack.line, args).start();
        let tally = if round % 2 == 0 {
            let ended = killed_in(program(&["snapshot", "create"]), usual_creation).await;
            for id in whole(&scene).await {
                if known.insert(id.clone()) {
                    sound(&scene, &id, &folder).await;
                    creations.whole += 1;
                }
            }
            (&mut creations, ended)
        } else {
            let args = ["snapshot", "restore", "latest", "--into", &place];
            let ended = killed_in(program(&args), usual_restoration).await;
            if folder.exists() {
                whole_folder(&scene, &place).await;
                restorations.whole += 1;
                std::fs::remove_dir_all(&folder).unwrap();
            }
            (&mut restorations, ended)
        };
        let count = if tally.1 { &mut tally.0.ended } else { &mut tally.0.killed };
        *count += 1;
    }
    // After all of it: nothing of what was there is lost, and the next one works.
    let last = scene.snapshot().await;
    sound(&scene, &last, &folder).await;
    let (code, said) = scene.run(&["snapshot", "prune"]).await;
    assert_eq!(code, Some(0), "{said}");
    for id in [&first, &last] {
        let (code, said) = scene.run(&["snapshot", "verify", id]).await;
        assert_eq!(code, Some(0), "{said}");
    }
    let mut table = String::new();
    for (name, tally) in [("creations", &creations), ("restorations", &restorations)] {
        let Tally { killed, ended, whole } = tally;
        writeln!(table, "{name}: {killed} killed, {ended} ended before, {whole} whole").unwrap();
    }
    println!("{table}");
}

/// Checks a folder that was put in place: it has everything, for the doctor, too.
async fn whole_folder(scene: &Scene, place: &str) {
    let (code, said) = scene.run(&["doctor", "--deep", "--data", place]).await;
    assert_eq!(code, Some(0), "{said}");
}
