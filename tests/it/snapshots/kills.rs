//! Snapshots, restorations and prunings that are killed at any moment, while the service stores what
//! people write: what verifies can be restored, and no folder looks whole that is not.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;

use super::Scene;
use crate::harness::files::below;
use crate::harness::process::{Process, Program};
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::stack::DEADLINE;

/// Number of kills, unless the environment sets another.
const KILLS: u32 = 12;
/// Variable that sets it.
const VARIABLE: &str = "CHATKEEP_TEST_KILLS";
/// Kinds of work that are killed, in turns; the service that makes snapshots has a test of its own.
const KINDS: [&str; 3] = ["creations", "restorations", "prunings"];

/// Fates of the commands that were to be killed.
#[derive(Debug, Default)]
struct Tally {
    killed: u32,
    /// The command was faster.
    ended: u32,
    /// Snapshots or folders that are there afterwards, all of them whole.
    whole: u32,
}

impl Tally {
    /// Counts a command.
    ///
    /// # Panics
    /// Panics if it failed by itself.
    fn count(&mut self, status: ExitStatus, process: &Process) {
        if status.success() {
            self.ended += 1;
        } else {
            let printed = [process.stdout(), process.stderr()].concat().join("\n");
            assert_eq!(status.signal(), Some(9), "it failed by itself: {status}\n{printed}");
            self.killed += 1;
        }
    }
}

/// Returns the number of kills in all.
fn kills() -> u32 {
    std::env::var(VARIABLE).map_or(KILLS, |text| text.parse().unwrap())
}

/// Returns the moment of a kill as processor time, in `rounds` that are spread from the start to
/// somewhat after the usual end. The first one is early, so that something is killed.
fn moment(usual: Duration, round: u32, rounds: u32) -> Duration {
    let random = f64::from(u32::try_from(random() >> 32).unwrap()) / f64::from(u32::MAX);
    let share = (f64::from(round) + random) / f64::from(rounds);
    usual.mul_f64(if round == 0 { 0.2 * random } else { 1.2 * share })
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Kills a command when it has worked for that long. Returns what became of it.
async fn killed_at(process: &mut Process, moment: Duration) -> ExitStatus {
    if process.work(moment).await.is_none() {
        process.kill().await;
    }
    process.finish().await
}

/// Returns the ids of the whole snapshots in a place.
async fn whole(scene: &Scene, target: &Path) -> BTreeSet<String> {
    let target = target.display().to_string();
    let (code, list) = scene.run(&["snapshot", "list", "--json", "--target", &target]).await;
    assert_eq!(code, Some(0), "{list}");
    let lines = list.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let whole = lines.filter(|line| line["manifest"].is_object());
    whole.map(|line| line["id"].as_str().unwrap().to_owned()).collect()
}

/// Checks a snapshot that is there: it verifies, and is restored with everything.
async fn sound(scene: &Scene, (target, id): (&Path, &str), folder: &Path) {
    verifies(scene, (target, id)).await;
    let target = target.display().to_string();
    scene.restore(id, folder, &["--target", &target]).await;
    fs::remove_dir_all(folder).unwrap();
}

async fn verifies(scene: &Scene, (target, id): (&Path, &str)) {
    let target = target.display().to_string();
    let (code, said) = scene.run(&["snapshot", "verify", id, "--target", &target]).await;
    assert_eq!(code, Some(0), "{said}");
}

/// Copies a folder with everything in it.
fn copy_tree(from: &Path, into: &Path) {
    for file in below(from) {
        let copy = into.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&file, &copy).unwrap();
    }
}

/// Prints what became of the killed work; somebody may want to see it.
fn print(kinds: &[(&str, &Tally)]) {
    let mut table = String::new();
    for (name, Tally { killed, ended, whole }) in kinds {
        writeln!(table, "{name}: {killed} killed, {ended} ended before, {whole} whole").unwrap();
    }
    println!("{table}");
    for (name, tally) in kinds {
        assert!(tally.killed > 0, "of the {name} none was killed: {table}");
    }
}

/// Kills of commands: what is killed, and the processor time that it usually takes.
struct Rounds<'a> {
    scene: &'a Scene,
    folder: PathBuf,
    usual: [Duration; 3],
    known: BTreeSet<String>,
    tallies: [Tally; 3],
}

impl Rounds<'_> {
    /// Kills one command of a kind, and checks what is left.
    async fn round(&mut self, kind: usize, nth: u32, rounds: u32) {
        let moment = moment(self.usual[kind], nth, rounds);
        match kind {
            0 => self.creation(moment).await,
            1 => self.restoration(moment).await,
            _ => self.pruning(moment).await,
        }
    }

    /// Kills a command, and counts what became of it.
    async fn command(&mut self, kind: usize, args: &[&str], moment: Duration) {
        let mut program = self.scene.program(args);
        if kind == 2 {
            program = keeping_two(program);
        }
        let mut process = program.start();
        let status = killed_at(&mut process, moment).await;
        self.tallies[kind].count(status, &process);
    }

    async fn creation(&mut self, moment: Duration) {
        self.command(0, &["snapshot", "create"], moment).await;
        let target = self.scene.target();
        for id in whole(self.scene, &target).await {
            if self.known.insert(id.clone()) {
                sound(self.scene, (&target, &id), &self.folder).await;
                self.tallies[0].whole += 1;
            }
        }
    }

    async fn restoration(&mut self, moment: Duration) {
        let place = self.folder.display().to_string();
        self.command(1, &["snapshot", "restore", "latest", "--into", &place], moment).await;
        if self.folder.exists() {
            let (code, said) = self.scene.run(&["doctor", "--deep", "--data", &place]).await;
            assert_eq!(code, Some(0), "{said}");
            self.tallies[1].whole += 1;
            fs::remove_dir_all(&self.folder).unwrap();
        }
    }

    async fn pruning(&mut self, moment: Duration) {
        let copy = self.scene.new_folder("pruned");
        copy_tree(&self.scene.target(), &copy);
        let place = copy.display().to_string();
        self.command(2, &["snapshot", "prune", "--target", &place], moment).await;
        let left = whole(self.scene, &copy).await;
        assert!(left.len() >= 2, "{left:?}");
        for id in &left {
            verifies(self.scene, (&copy, id)).await;
            self.tallies[2].whole += 1;
        }
        sound(self.scene, (&copy, left.last().unwrap()), &self.folder).await;
        fs::remove_dir_all(&copy).unwrap();
    }
}

/// Returns a pruning of all but the two newest snapshots.
fn keeping_two(program: Program) -> Program {
    program.env("CHATKEEP_SNAPSHOT_KEEP", "2").env("CHATKEEP_SNAPSHOT_KEEP_DAYS", "0")
}

/// Runs a program to its end. Returns its output with the processor time that it took.
async fn measured(program: Program) -> (String, Duration) {
    let mut process = program.start();
    let (status, worked) = process.finish_measured().await;
    assert!(status.success(), "{}", process.stderr().join("\n"));
    (process.stdout().join("\n"), worked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_moment_leaves_only_what_can_be_restored() {
    // However many are made, the first one stays.
    let scene = Scene::new(&[("CHATKEEP_SNAPSHOT_KEEP", "1000".to_owned())]).await;
    for n in 0..6_u8 {
        scene.send(&vec![n; 200_000]).await;
    }
    let (folder, target) = (scene.new_folder("restored"), scene.target());
    let (first, creation) = measured(scene.program(&["snapshot", "create"])).await;
    let into = folder.display().to_string();
    let args = ["snapshot", "restore", &first, "--into", &into];
    let (_, restoration) = measured(scene.program(&args)).await;
    fs::remove_dir_all(&folder).unwrap();
    for n in 0..4 {
        scene.say(&format!("before snapshot {n}")).await;
        scene.snapshot().await;
    }
    let copy = scene.new_folder("pruned");
    copy_tree(&target, &copy);
    let place = copy.display().to_string();
    let prune = scene.program(&["snapshot", "prune", "--target", &place]);
    let (_, pruning) = measured(keeping_two(prune)).await;
    fs::remove_dir_all(&copy).unwrap();

    let known = whole(&scene, &target).await;
    let usual = [creation, restoration, pruning];
    let mut rounds = Rounds { scene: &scene, folder, usual, known, tallies: Default::default() };
    let each = kills().div_ceil(4);
    for round in 0..each {
        for kind in 0..KINDS.len() {
            let (chat, user) = (&scene.group.chat_id, &scene.people[1].user_id);
            scene.stack.line.say(chat, user, &format!("in round {round}")).await.unwrap();
            rounds.round(kind, round, each).await;
        }
    }
    // After all of it: nothing of what was there is lost, and the next one works.
    let last = scene.snapshot().await;
    sound(&scene, (&target, &last), &rounds.folder).await;
    let (code, said) = scene.run(&["snapshot", "prune"]).await;
    assert_eq!(code, Some(0), "{said}");
    for id in [&first, &last] {
        verifies(&scene, (&target, id)).await;
    }
    let [creations, restorations, prunings] = &rounds.tallies;
    print(&[(KINDS[0], creations), (KINDS[1], restorations), (KINDS[2], prunings)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_of_the_service_leaves_only_what_can_be_restored() {
    let mut scene = Scene::new(&[("CHATKEEP_SNAPSHOT_EVERY_HOURS", "1".to_owned())]).await;
    for n in 0..6_u8 {
        scene.send(&vec![n; 200_000]).await;
    }
    let (_, usual) = measured(scene.program(&["snapshot", "create"])).await;
    let folder = scene.new_folder("restored");
    let mut tally = Tally::default();
    let each = kills().div_ceil(4);
    // A service may be faster than a busy observer, so rounds go on until one was not.
    let mut rounds = (0..10 * each).peekable();
    while let Some(round) = rounds.next_if(|round| *round < each || tally.killed == 0) {
        scene.stack.process.kill().await;
        // A place of its own, where a snapshot is due at once.
        let target = scene.new_folder(&format!("place{round}"));
        let place = target.display().to_string();
        scene.stack.ground.settings.push(("CHATKEEP_SNAPSHOT_TARGET", place));
        scene.stack.process = scene.program(&["serve"]).start();
        let begun = async || !below(&target.join("snapshots")).is_empty();
        until("a snapshot is begun", DEADLINE, begun).await;
        let process = &scene.stack.process;
        let (start, moment) = (process.processor_time(), moment(usual / 2, round % each, each));
        // Once the snapshot is whole, the service has nothing to do.
        let is_manifest = |file: &PathBuf| file.ends_with("manifest.json");
        until("it is time for the kill", DEADLINE, async || {
            process.processor_time() >= start + moment
                || below(&target.join("snapshots")).iter().any(is_manifest)
        })
        .await;
        scene.stack.process.kill().await;
        let left = whole(&scene, &target).await;
        let count = if left.is_empty() { &mut tally.killed } else { &mut tally.ended };
        *count += 1;
        for id in &left {
            sound(&scene, (&target, id), &folder).await;
            tally.whole += 1;
        }
        // The next one is not hindered by what was left.
        let next = scene.snapshot().await;
        sound(&scene, (&target, &next), &folder).await;
    }
    print(&[("snapshots of the service", &tally)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_command_leaves_no_copy_of_what_is_stored() {
    let scene = Scene::new(&[]).await;
    for n in 0..6_u8 {
        scene.send(&vec![n; 200_000]).await;
    }
    let scratch = scratch::folder("interrupted-");
    let work = scene.stack.ground.folder.path().join("snapshot-work");
    let each = kills().div_ceil(4);
    for args in [&["snapshot", "create"][..], &["snapshot", "verify", "latest"]] {
        let program = || scene.program(args).env("TMPDIR", scratch.path());
        let (_, usual) = measured(program()).await;
        let mut interrupted = 0;
        // The command may be faster than a busy observer, so rounds go on until one was not.
        let mut rounds = (0..10 * each).peekable();
        while let Some(round) = rounds.next_if(|round| *round < each || interrupted == 0) {
            let mut process = program().start();
            process.work(moment(usual, round % each, each)).await;
            process.terminate().await;
            let said = process.stderr().join("\n");
            interrupted += u32::from(said.contains("interrupted before it was done"));
            assert!(!work.exists(), "{args:?}: {said}");
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "{args:?}: {said}");
        }
        assert!(interrupted > 0, "{args:?}: none was interrupted");
    }
}
