//! Commands as people run them: in pipes, without their terminal, in a wrong folder, beside servers
//! that refuse them.

mod data;

use chatkeep_emulator::TokenKind;
use chatkeep_workers::StageName;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::harness::process::{Process, Program};
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::pipeline::on_both;
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

/// Waits for a program to end by itself, with that code.
async fn ends(mut process: Process, code: i32) -> String {
    let status = process.finish().await;
    let said = process.stderr().join("\n");
    assert_eq!(status.code(), Some(code), "{said}");
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_goes_away_ends_a_command_quietly() {
    let folder = scratch::folder("pipes-");
    let data = folder.path().join("data");
    let command = |script: String| {
        let program = Program::new("bash").env("CHATKEEP_DATA", &data);
        program.args(["-c", &script]).start()
    };
    let chatkeep = env!("CARGO_BIN_EXE_chatkeep");
    ends(command(format!("{chatkeep} user add U1")), 0).await;
    for args in [
        "openapi",
        "user list",
        "channel list",
        "channel bots",
        "key list --user U1",
        "import list",
        "status",
        "config show",
        "completions bash",
        "man",
    ] {
        // The reader is gone before anything is written.
        let script = format!("exec > >(true); wait $!; {chatkeep} {args}");
        let said = ends(command(script), 141).await;
        assert_eq!(said, "", "{args}");
    }
    // Side output stops nothing.
    ends(command(format!("exec > >(true) 2>&1; wait $!; {chatkeep} user add U2")), 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_tells_what_it_uses_and_each_request() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let first = stack.process.stderr().remove(0);
    assert!(first.contains("chatkeep starts version="), "{first}");
    let data = format!("data={}", stack.ground.folder.path().display());
    let listen = format!("listen={}", stack.ground.address);
    let bus = format!("bus={}", stack.ground.nats.as_ref().unwrap().url());
    for part in [
        &data,
        &listen,
        &bus,
        "settings=",
        "database=postgres://",
        "time_zone=\"UTC\"",
        "base_url=",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    group(&mut stack).await;
    stack.get("/me").await;
    let (key, wrong) = (stack.key().to_owned(), "ck_nobody");
    stack.use_key(wrong);
    stack.call(Method::GET, "/me", None).await;
    assert!(stack.process.terminate().await.success());
    let log = stack.process.stderr();
    for parts in [
        ["route=\"/api/me\"", "status=\"200\"", "caller=\"key\""],
        ["route=\"/api/me\"", "status=\"401\"", "caller=\"none\""],
        ["route=\"/webhook/line\"", "status=\"200\"", "caller=\"platform\""],
    ] {
        let has_all = |line: &String| parts.iter().all(|part| line.contains(part));
        let found = log.iter().find(|line| has_all(line));
        let line = found.unwrap_or_else(|| panic!("{parts:?}: {}", log.join("\n")));
        assert!(line.contains("duration_ms=") && line.contains(" id="), "{line}");
    }
    let log = log.join("\n");
    assert!(!log.contains("route=\"/readyz\""), "probes are not in the log: {log}");
    assert!(!log.contains(&key) && !log.contains(wrong), "{log}");
    assert!(log.contains("SIGTERM") && log.contains("chatkeep has stopped"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_drains_when_its_terminal_goes_away() {
    let (ground, line) = (TestEnv::new(Parts::Embedded).await, emulator().await);
    let log = ground.folder.path().join("log");
    let program = env!("CARGO_BIN_EXE_chatkeep");
    let inside = format!("exec {program} serve 2>{}", log.display());
    // A terminal of its own, which goes away with the program that made it.
    let script = format!("exec script --quiet --return --command '{inside}' /dev/null");
    let mut terminal = ground.shell(&line, &script).start();
    terminal.ready(ground.address, "/readyz").await;
    terminal.kill().await;
    until("the service has stopped", DEADLINE, async || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.contains("SIGHUP") && log.contains("chatkeep has stopped")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_an_exit_code() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    assert_eq!(stack.ground.command(&stack.line, &["health"]).await, "ok");
    let ready = stack.ground.command(&stack.line, &["health", "--ready"]).await;
    assert!(ready.contains("\"bus\":\"ok\"") && ready.contains("\"disk\":\"ok\""), "{ready}");
    // Settings that somebody is about to change concern the running process as little.
    let edited = stack.ground.folder.path().join("edited.toml");
    std::fs::write(&edited, "[worker]\nbatch = \"many\"\n").unwrap();
    let args = ["--config", &edited.display().to_string(), "health"];
    assert_eq!(stack.ground.command(&stack.line, &args).await, "ok");
    let elsewhere = stack.ground.program(&stack.line, &["health"]);
    let said = ends(elsewhere.env("CHATKEEP_LISTEN", "nonsense").start(), 1).await;
    assert!(said.contains("listen is \"nonsense\"; allowed: "), "{said}");
    assert!(stack.process.terminate().await.success());
    for args in [&["health"][..], &["health", "--ready"]] {
        let said = ends(stack.ground.program(&stack.line, args).start(), 1).await;
        let expected = format!("chatkeep: no process responds on {}", stack.ground.address);
        assert!(said.starts_with(&expected), "{said}");
    }
}

async fn the_status_has_everything_at_a_glance(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    group(&mut stack).await;
    stack.drained().await;
    let status = stack.ground.command(&stack.line, &["status", "--json"]).await;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["processes"][0]["roles"], json!(["ingress", "api", "worker", "search"]));
    let consumers = status["consumers"].as_array().unwrap();
    assert_eq!(consumers.len(), StageName::ALL.len(), "{status}");
    assert!(consumers.iter().all(|one| one["backlog"] == 0 && one["oldestSeconds"].is_null()));
    assert_eq!((&status["deadLetters"], &status["webhooks"]["failing"]), (&json!(0), &json!(0)));
    assert_eq!(status["channels"], json!({"backedUp": 1, "paused": 0}));
    assert_eq!(status["media"], json!({"files": 0, "bytes": 0, "pending": 0, "failed": 0}));
    let folders: Vec<_> = status["disks"].as_array().unwrap().iter().collect();
    assert_eq!(folders.len(), 2, "{status}");
    assert!(folders.iter().all(|disk| disk["freeBytes"].as_u64() > Some(0)), "{status}");
    let [token] = &status["expiries"].as_array().unwrap()[..] else { panic!("{status}") };
    assert_eq!((&token["kind"], &token["name"]), (&json!("access_token"), &json!("main")));
    assert!(token["secondsLeft"].as_u64() > Some(86_400), "{status}");
    // Only an embedded bus fills the data folder.
    let data = folders.iter().find(|disk| disk["folder"] == "data").unwrap();
    let reserve = data["reserveBytes"].as_u64().unwrap();
    assert_eq!(reserve > 0, parts == Parts::Embedded, "{status}");
    // A process reports the state of its replica with its heartbeat.
    let mut text = String::new();
    until("the replica is ready", DEADLINE, async || {
        text = stack.ground.command(&stack.line, &["status", "--local"]).await;
        text.contains("ready, ")
    })
    .await;
    text += &stack.ground.command(&stack.line, &["status"]).await;
    for part in [
        "PROCESS",
        " ago",
        "  all  ",
        "ready, ",
        "CONSUMER",
        "OLDEST",
        "dead letters",
        "data folder",
        "access token",
        " left ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    stack.line.set_up(|account| account.token = TokenKind::Stateless);
    let text = stack.ground.command(&stack.line, &["status"]).await;
    let token = text.lines().find(|line| line.starts_with("access token")).unwrap();
    assert!(token.contains("not known"), "LINE accepts it: {token}");
    let wrong = stack.ground.program(&stack.line, &["status"]);
    let mut wrong = wrong.env("CHATKEEP_LINE_ACCESS_TOKEN", "not-the-token").start();
    assert!(wrong.finish().await.success());
    let told = wrong.stdout().join("\n");
    let token = told.lines().find(|line| line.starts_with("access token")).unwrap();
    assert!(token.ends_with("main: the platform rejects the access token"), "{token}");
    let local = stack.ground.command(&stack.line, &["status", "--local"]).await;
    assert!(!local.contains("access token"), "{local}");
    let args = ["status", "--local", "--json", "--watch=1"];
    let mut watch = stack.ground.program(&stack.line, &args).start();
    until("it was printed again", DEADLINE, async || watch.stdout().len() >= 2).await;
    watch.kill().await;
    let args = ["status", "--local", "--watch=1"];
    let mut watch = stack.ground.program(&stack.line, &args).start();
    until("each page has its time", DEADLINE, async || {
        let pages = watch.stdout();
        pages.iter().filter(|line| line.ends_with("Z, every 1 s; Ctrl-C ends")).count() >= 2
    })
    .await;
    watch.kill().await;
    assert!(stack.process.terminate().await.success());
}

async fn the_status_shows_what_can_be_read(parts: Parts) {
    let mut stack = Stack::start(parts, emulator().await).await;
    let status = async |args: &[&str]| {
        let args = [&["status", "--local"], args].concat();
        let mut process = stack.ground.program(&stack.line, &args).start();
        let code = process.finish().await.code();
        let (told, said) = (process.stdout().join("\n"), process.stderr().join("\n"));
        assert_eq!(code, Some(1), "{told}\n{said}");
        assert!(said.contains("not everything could be read:"), "{said}");
        assert!(!told.contains("hunter2") && !said.contains("hunter2"), "{told}\n{said}");
        (told, said)
    };
    let away = ["--bus", "nats://someone:hunter2@127.0.0.1:1"];
    let (told, said) = status(&away).await;
    assert!(told.contains("PROCESS") && told.contains("media files"), "{told}");
    assert!(!told.contains("CONSUMER") && !told.contains("dead letters"), "{told}");
    assert!(said.contains("  bus: cannot open the bus nats://"), "{said}");
    let (told, _) = status(&[&away[..], &["--json"]].concat()).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["processes"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!((&told["consumers"], &told["deadLetters"]), (&Value::Null, &Value::Null));
    let unread = told["unread"].as_array().unwrap();
    assert_eq!((unread.len(), &unread[0]["part"]), (1, &json!("bus")), "{told}");

    let away = ["--database", "postgres://someone:hunter2@127.0.0.1:1/none"];
    let (told, said) = status(&away).await;
    assert!(!told.contains("PROCESS") && told.contains("CONSUMER"), "{told}");
    assert!(told.contains("data folder") && !told.contains("no process runs"), "{told}");
    assert!(said.contains("  database: cannot open the database postgres://"), "{said}");
    let (told, _) = status(&[&away[..], &["--json"]].concat()).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    for part in ["processes", "media", "webhooks"] {
        assert_eq!(told[part], Value::Null, "{told}");
    }
    assert_eq!((&told["deadLetters"], &told["unread"][0]["part"]), (&json!(0), &json!("database")));
    assert!(stack.process.terminate().await.success());
}

/// Starts the program in a folder with this settings file, and ends it with that code. Returns what
/// it printed.
async fn in_folder_with(file: &str, args: &[&str], code: i32) -> (String, String) {
    let folder = scratch::folder("settings-");
    std::fs::write(folder.path().join("chatkeep.toml"), file).unwrap();
    let program = Program::chatkeep().args(args.iter().copied()).folder(folder.path());
    let program = program
        .env("CHATKEEP_CONFIG", "chatkeep.toml")
        .env("CHATKEEP_LINE_ACCESS_TOKEN", "hunter2")
        .env("CHATKEEP_DATABASE", "postgres://me:hunter2@db/x")
        .env("CHATKEEP_LISTN", "hunter2");
    let mut process = program.start();
    let status = process.finish().await;
    let told = (process.stdout().join("\n"), process.stderr().join("\n"));
    assert_eq!(status.code(), Some(code), "{told:?}");
    assert!(!told.0.contains("hunter2") && !told.1.contains("hunter2"), "{told:?}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing is created");
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_checked_all_at_once() {
    let warning = "environment CHATKEEP_LISTN is not a setting and is ignored (did you mean \
                   CHATKEEP_LISTEN?)";
    let wrong = "[workers]\nbatch = 0\n[worker]\nbatch = 1\n[line]\nchannel_secret = \"hunter2\"\n";
    let (told, said) = in_folder_with(wrong, &["config", "check"], 1).await;
    let expected = [
        "chatkeep.toml, line 4: unknown setting worker.batch (did you mean workers.batch?)",
        "chatkeep.toml, line 2: workers.batch is 0; allowed: a whole number from 1 to 5000",
        warning,
    ];
    assert_eq!(told, expected.join("\n"));
    assert_eq!(said, "chatkeep: 2 problems prevent the service from starting");
    let (told, _) = in_folder_with(wrong, &["config", "check", "--json"], 1).await;
    let report: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(report["problems"], serde_json::json!(expected[..2]));
    assert_eq!(report["warnings"], serde_json::json!([warning]));
    // Combinations of settings that are right are named with them, those with a wrong one are not.
    let combined =
        "[snapshot]\nevery_hours = 24\n[workers]\nbatch = 0\n[metrics]\nlisten = \"?\"\n";
    let (told, said) = in_folder_with(combined, &["config", "check"], 1).await;
    for named in
        ["workers.batch is 0", "metrics.listen", "CHANNEL_SECRET is not set", "needs a target"]
    {
        assert!(told.contains(named), "{named}: {told}");
    }
    assert_eq!(said, "chatkeep: 4 problems prevent the service from starting");
    let doubted =
        "[snapshot]\nevery_hours = 24\ntarget = 7\n[line]\nchannel_secret_file = \"none\"\n";
    let (told, said) = in_folder_with(doubted, &["config", "check"], 1).await;
    assert!(!told.contains("needs a target") && !told.contains("is not set"), "{told}");
    assert_eq!(said, "chatkeep: 2 problems prevent the service from starting");
    let unscheduled = "[snapshot]\ntarget = \"/srv/x\"\n[line]\nchannel_secret = \"hunter2\"\n";
    let (told, _) = in_folder_with(unscheduled, &["config", "check"], 0).await;
    assert!(told.contains("snapshot.target has no schedule"), "{told}");
    let right = "[line]\nchannel_secret = \"hunter2\"\n";
    let (told, said) = in_folder_with(right, &["config", "check"], 0).await;
    assert!(told.starts_with(warning) && said.ends_with(" settings are valid"), "{told} {said}");
    // What each setting says is right, and together they start nothing.
    let (told, said) = in_folder_with("", &["config", "check"], 1).await;
    assert!(told.contains("CHATKEEP_LINE_CHANNEL_SECRET is not set"), "{told}");
    assert_eq!(said, "chatkeep: 1 problem prevents the service from starting");
    let open = ["--listen", "0.0.0.0:8080", "config", "check"];
    let (told, _) = in_folder_with(right, &open, 1).await;
    assert!(told.contains("CHATKEEP_API_BASE_URL"), "{told}");
    in_folder_with(right, &[&open[..], &["--roles", "search"]].concat(), 0).await;
    let (_, said) = in_folder_with(right, &["config", "check", "--roles", "cook"], 2).await;
    assert!(said.contains("--roles: unknown value \"cook\""), "{said}");
    in_folder_with("", &["--config", "none.toml", "config", "check"], 2).await;
    in_folder_with(wrong, &["config", "show"], 2).await;
    // What a shell or a generator of clients needs has nothing to do with the settings.
    in_folder_with(wrong, &["completions", "bash"], 0).await;
    in_folder_with(wrong, &["openapi"], 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_are_shown_with_their_origin() {
    let file = "[workers]\n\nbatch = 7\n";
    let args = ["--listen", "127.0.0.1:1", "config", "show"];
    let (told, _) = in_folder_with(file, &args, 0).await;
    let row = |key: &str| {
        let mut rows = told.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
        rows.find(|row| row[0] == key).unwrap_or_else(|| panic!("no {key}: {told}"))[1..].join(" ")
    };
    for (key, expected) in [
        ("SETTING", "VALUE ORIGIN"),
        ("workers.batch", "7 chatkeep.toml, line 3"),
        ("workers.concurrency", "16 the defaults"),
        ("listen", "\"127.0.0.1:1\" --listen"),
        ("line.access_token", "(secret) environment CHATKEEP_LINE_ACCESS_TOKEN"),
        ("line.channel_secret", "\"\" the defaults"),
        ("database", "\"postgres://…@db/x\" environment CHATKEEP_DATABASE"),
    ] {
        assert_eq!(row(key), expected);
    }
    let (json, _) = in_folder_with(file, &[&args[..], &["--json"]].concat(), 0).await;
    let settings: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(settings.len(), told.lines().count() - 1);
    let token = settings.iter().find(|setting| setting["key"] == "line.access_token").unwrap();
    assert_eq!(token["value"], serde_json::Value::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_are_what_their_shell_reads() {
    for (shell, expected) in [
        ("bash", "complete -F _chatkeep"),
        ("zsh", "#compdef chatkeep"),
        ("fish", "complete -c chatkeep"),
        ("elvish", "edit:completion:arg-completer[chatkeep]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let (script, said) = in_folder_with("", &["completions", shell], 0).await;
        assert!(script.contains(expected) && script.contains("config"), "{shell}: {script}");
        assert_eq!(said, "");
    }
    let (bash, _) = in_folder_with("", &["completions", "bash"], 0).await;
    let folder = scratch::folder("completions-");
    std::fs::write(folder.path().join("chatkeep.bash"), bash).unwrap();
    let script = "source ./chatkeep.bash; COMP_WORDS=(chatkeep li); COMP_CWORD=1; \
                  _chatkeep chatkeep li chatkeep; echo \"${COMPREPLY[@]}\"";
    let mut shell = Program::new("bash").args(["-c", script]).folder(folder.path()).start();
    assert!(shell.finish().await.success(), "{:?}", shell.stderr());
    assert_eq!(shell.stdout(), ["line"]);
}

async fn a_newer_schema_is_named(parts: Parts) {
    let (ground, line) = (TestEnv::bare(parts).await, emulator().await);
    ground.said(&line, &["migrate"]).await;
    let newer = "INSERT INTO _sqlx_migrations
                     (version, description, success, checksum, execution_time, installed_on)
                 SELECT 1000, 'x', success, checksum, 1, installed_on
                 FROM _sqlx_migrations WHERE version = 1";
    ground.sql(newer).await;
    for command in [&["user", "list"][..], &["serve"], &["migrate"]] {
        // The code on which a service is not started again.
        let said = ends(ground.program(&line, command).start(), 2).await;
        let told = "chatkeep: this database was written by a newer chatkeep (schema 1000; this one";
        assert!(said.contains(told), "{command:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bus_that_this_version_cannot_read_ends_the_service_for_good() {
    let (ground, line) = (TestEnv::new(Parts::Embedded).await, emulator().await);
    let file = format!("sqlite://{}?mode=rwc", ground.folder.path().join("bus.db").display());
    let mut bus = SqliteConnection::connect(&file).await.unwrap();
    bus.execute("PRAGMA user_version = 77").await.unwrap();
    bus.close().await.unwrap();
    let said = ends(ground.program(&line, &["serve"]).start(), 2).await;
    assert!(said.contains("bus.db has layout 77, this version reads layout"), "{said}");
    let said = ends(ground.program(&line, &["--bus", "nats://", "serve"]).start(), 2).await;
    assert!(said.contains("NATS address") || said.contains("--bus"), "{said}");
}

async fn an_empty_database_stays_empty(parts: Parts) {
    let (ground, line) = (TestEnv::bare(parts).await, emulator().await);
    for command in [&["user", "list"][..], &["doctor"], &["dead", "list"], &["status"]] {
        let said = ends(ground.program(&line, command).start(), 2).await;
        assert!(said.contains("give --da") || said.contains("--bus or --config"), "{said}");
    }
    assert_eq!(ground.folder.path().read_dir().unwrap().count(), 0);
    if let Some(database) = &ground.database {
        assert_eq!(
            database.query("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").await,
            "0"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_database_is_told_once() {
    let (ground, line) = (TestEnv::bare(Parts::Servers).await, emulator().await);
    let url = ground.database.as_ref().unwrap().url_as("nobody_here");
    let program = ground.program(&line, &["--database", &url, "user", "list"]);
    let said = ends(program.start(), 1).await;
    assert_eq!(said.matches("nobody_here").count(), 1, "{said}");
    assert!(said.starts_with("chatkeep: cannot open the database"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_of_another_folder_finds_nothing_well() {
    let stack = Stack::start(Parts::Servers, emulator().await).await;
    let elsewhere = scratch::folder("elsewhere-");
    for own in [false, true] {
        if own {
            std::fs::create_dir_all(elsewhere.path().join("blobs")).unwrap();
        }
        let program = stack.ground.program(&stack.line, &["doctor", "--repair"]);
        let said = ends(program.env("CHATKEEP_DATA", elsewhere.path()).start(), 2).await;
        assert!(said.contains("give --data, --blobs or --config"), "{said}");
    }
    stack.is_well().await;
}

/// A process that never responds, that says why, and that is considered dead while the command waits
/// for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reindexing_ends_when_nobody_does_it_any_more() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (chat, _) = group(&mut stack).await;
    assert!(stack.process.terminate().await.success());
    let other = "INSERT INTO processes
                     (process_id, host, pid, version, roles, stages, shared, search, started_at, seen_at)
                 SELECT '0-x', 'elsewhere', 1, '0', '[]', '[]', '{}',
                        '{\"phase\":\"catching_up\",\"epoch\":\"e\",\"position\":[0,0],\"filled\":[0,0],\"messages\":0,\"work\":null,\"error\":null}',
                        unixepoch() * 1000, (unixepoch() + 15) * 1000";
    stack.ground.sql(other).await;
    let args = ["reindex", "--channel", &chat.chat_id];
    let mut command = stack.ground.program(&stack.line, &args).start();
    command.line("waiting for 1 process").await;
    let failing = "UPDATE processes SET search = REPLACE(REPLACE(search,
                       '\"error\":null', '\"error\":\"no access\"'), 'catching_up', 'failing')";
    stack.ground.sql(failing).await;
    command
        .line("process 1 on elsewhere: the search index cannot follow the store: no access")
        .await;
    stack.ground.sql("DELETE FROM processes").await;
    let status = command.finish().await;
    let said = command.stderr().join("\n");
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("no process with the role search is running any more"), "{said}");
}

on_both!(
    a_newer_schema_is_named,
    an_empty_database_stays_empty,
    the_status_has_everything_at_a_glance,
    the_status_shows_what_can_be_read,
);
