//! Commands on a data folder: what they take, print and refuse.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::process::Program;
use crate::harness::scratch;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{Parts, Stack, TestEnv};

/// Runs a command on a data folder, and expects that code. Returns what it printed, and what it said.
async fn on_data(data: &Path, args: &[&str], code: i32) -> (Vec<String>, String) {
    let program = Program::chatkeep().env("CHATKEEP_DATA", data).args(args.iter().copied());
    let mut process = program.start();
    let status = process.finish().await;
    let (printed, said) = (process.stdout(), process.stderr().join("\n"));
    assert_eq!(status.code(), Some(code), "{args:?}: {printed:?} {said}");
    (printed, said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_created_listed_and_deleted() {
    let folder = scratch::folder("keys-");
    let run = async |args: &str, code| {
        on_data(folder.path(), &args.split(' ').collect::<Vec<_>>(), code).await
    };
    run("user add U1", 0).await;
    let (_, said) = run("key create --user U9 --name bot", 1).await;
    assert!(said.contains("`chatkeep user add U9` creates it"), "{said}");
    for (args, why) in [
        ("--scope everything", "unknown scope \"everything\"; allowed: read:messages"),
        ("--expires 2001-01-01", "--expires must be in the future"),
        ("--expires tomorrow", "--expires \"tomorrow\""),
        ("--not-before x", "--not-before \"x\""),
        ("--channel C9", "--channel: unknown channel C9"),
        ("--pseudonyms --scope write:backup", "--pseudonyms cannot go with --scope write:backup"),
    ] {
        let (printed, said) = run(&format!("key create --user U1 --name bot {args}"), 2).await;
        assert!(said.contains(why) && printed.is_empty(), "{args}: {said}");
    }
    let long = "x".repeat(101);
    let (printed, said) = run(&format!("key create --user U1 --name {long}"), 2).await;
    assert!(printed.is_empty() && said.contains("--name must have 1 to 100 characters"), "{said}");
    let create = "key create --user U1 --name bot --scope read:messages --scope read:messages \
                  --expires 2999-01-01";
    let (printed, said) = run(create, 0).await;
    let [secret] = &printed[..] else { panic!("{printed:?}") };
    let (id, _) = said.rsplit_once(": store the key safely").unwrap();
    let id = id.rsplit_once(' ').map_or(id, |(_, id)| id);
    assert!(!said.contains(secret.as_str()), "{said}");
    let (table, _) = run("key list --user U1", 0).await;
    let [headings, row] = &table[..] else { panic!("{table:?}") };
    assert!(headings.starts_with("KEY") && headings.ends_with("SCOPES"), "{headings}");
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!((cells[0], cells[1], cells[4]), (id, "bot", "2999-01-01T00:00:00.000Z"), "{row}");
    assert!(secret.ends_with(cells[2].trim_start_matches('…')), "{row}");
    assert!(row.ends_with("read:messages") && !row.contains(secret.as_str()), "{row}");
    let (listed, _) = run("key list --user U1 --json", 0).await;
    let listed: Value = serde_json::from_str(&listed.concat()).unwrap();
    assert_eq!((&listed["keyId"], &listed["scopes"]), (&json!(id), &json!(["read:messages"])));
    let (_, said) = run(&format!("key revoke {id}"), 0).await;
    assert!(said.contains("was deleted"), "{said}");
    let (_, said) = run(&format!("key revoke {id}"), 1).await;
    assert!(said.contains(&format!("unknown key {id}")), "{said}");
    assert_eq!(run("key list --user U1", 0).await.0.len(), 1, "headings alone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_of_a_key_begin_in_the_time_zone_of_the_service() {
    let folder = scratch::folder("keys-");
    let run = async |args: &str| {
        let program = Program::chatkeep().env("CHATKEEP_DATA", folder.path());
        let program = program.env("CHATKEEP_TIME_ZONE", "Asia/Taipei");
        let mut process = program.args(args.split(' ')).start();
        assert!(process.finish().await.success(), "{args}: {:?}", process.stderr());
        process.stdout().concat()
    };
    run("user add U1").await;
    let days = "--expires 2999-01-01 --not-before 2020-01-01T09:30";
    run(&format!("key create --user U1 --pseudonyms {days}")).await;
    let listed: Value = serde_json::from_str(&run("key list --user U1 --json").await).unwrap();
    assert_eq!(listed["expiresAt"], "2998-12-31T16:00:00.000Z");
    assert_eq!(listed["notBefore"], "2020-01-01T01:30:00.000Z");
    assert_eq!(listed["pseudonyms"], json!(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_of_an_import_creates_nothing() {
    let folder = scratch::folder("dry-");
    let (data, file) = (folder.path().join("data"), folder.path().join("export"));
    std::fs::create_dir_all(file.join("media")).unwrap();
    std::fs::write(file.join("messages.jsonl"), "").unwrap();
    let dry = ["import", file.to_str().unwrap(), "--channel", "C1", "--dry-run"];
    let (_, said) = on_data(&data, &dry, 2).await;
    assert!(said.contains("contains no chatkeep data: give --data"), "{said}");
    assert!(!data.exists());
    on_data(&data, &["user", "add", "U1"], 0).await;
    std::fs::remove_dir_all(data.join("blobs")).unwrap();
    on_data(&data, &dry, 0).await;
    assert!(!data.join("blobs").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_imported_while_the_media_store_is_away() {
    let folder = scratch::folder("away-");
    let (data, file) = (folder.path().join("data"), folder.path().join("messages.jsonl"));
    std::fs::write(&file, "").unwrap();
    let import = async |code| {
        let program = Program::chatkeep().env("CHATKEEP_DATA", &data);
        let program = program
            .env("CHATKEEP_BLOBS", "s3://media")
            .env("CHATKEEP_S3_ENDPOINT", "http://127.0.0.1:1")
            .env("CHATKEEP_S3_ACCESS_KEY_ID", "me")
            .env("CHATKEEP_S3_SECRET_ACCESS_KEY", "secret");
        let args = ["import", file.to_str().unwrap(), "--channel", "C1", "--user", "U1"];
        let mut process = program.args(args).start();
        let status = process.finish().await;
        assert_eq!(status.code(), Some(code), "{:?}", process.stderr());
    };
    import(0).await;
    std::fs::create_dir(folder.path().join("media")).unwrap();
    import(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_values_of_an_import_are_said_before_anything_is_read() {
    let folder = scratch::folder("import-");
    for (args, why) in [
        (&["chat.txt"][..], "--channel <ID>"),
        (&["--format", "xml"], "unknown format \"xml\"; allowed: auto, jsonl, line"),
        (&["--date-order", "ymd"], "--date-order: \"ymd\" is neither dmy nor mdy"),
        (&["--encoding", "klingon"], "--encoding: unknown encoding \"klingon\""),
        (&["--time-zone", "Mars"], "Mars"),
        (&["--user", " "], "--user: the user id must not be empty"),
    ] {
        let given: &[&str] =
            if args == ["chat.txt"] { &[] } else { &["chat.txt", "--channel", "C1"] };
        let args: Vec<_> = ["import"].iter().chain(given).chain(args).copied().collect();
        let (_, said) = on_data(folder.path(), &args, 2).await;
        assert!(said.contains(why), "{args:?}: {said}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is created");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_tables_for_people_and_lines_of_json_for_programs() {
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (chat, _) = group(&mut stack).await;
    let ground = &stack.ground;
    let run = async |args: &[&str]| -> Vec<String> {
        ground.command(&stack.line, args).await.lines().map(str::to_owned).collect()
    };
    let table = run(&["channel", "list"]).await;
    let [headings, row] = &table[..] else { panic!("{table:?}") };
    assert!(headings.starts_with("CHANNEL") && row.contains(&chat.chat_id), "{table:?}");
    let listed = run(&["channel", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.concat()).unwrap();
    assert_eq!((&listed["channelId"], &listed["status"]), (&json!(chat.chat_id), &json!("active")));
    assert_eq!((&listed["type"], &listed["bot"]), (&json!("group"), &json!("main")));
    let bots = run(&["channel", "bots"]).await;
    let cells: Vec<_> = bots[1].split_whitespace().collect();
    assert_eq!((bots.len(), cells), (2, vec!["main", "1", "yes"]));
    let empty = run(&["dead", "list"]).await;
    assert!(empty.len() == 1 && empty[0].starts_with("ID"), "{empty:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_full_model_is_installed_shown_and_deleted() {
    let folder = scratch::folder("model-");
    let run = async |args: &[&str], code| {
        let args: Vec<_> = ["model"].iter().chain(args).copied().collect();
        on_data(folder.path(), &args, code).await
    };
    on_data(folder.path(), &["user", "add", "U1"], 0).await;
    let built_in = ["semantic model: built-in"];
    assert_eq!(run(&["status"], 0).await.0, built_in);
    let (_, said) = run(&["remove"], 1).await;
    assert!(said.contains("no model is installed in"), "{said}");
    let file = folder.path().join("broken.whl");
    std::fs::write(&file, "no package").unwrap();
    run(&["install", "--from", file.to_str().unwrap()], 1).await;
    assert_eq!(run(&["status"], 0).await.0, built_in);
    let wheel = std::env::var_os("CHATKEEP_MODEL");
    let wheel = wheel.expect("CHATKEEP_MODEL names the model's wheel; tests/run sets it");
    let (shown, said) = run(&["install", "--from", wheel.to_str().unwrap()], 0).await;
    assert_ne!(shown, built_in);
    assert!(said.contains("a running service uses it after a restart"), "{said}");
    assert_eq!(run(&["status"], 0).await.0, shown);
    let (_, said) = run(&["remove"], 0).await;
    assert!(said.contains("the full model was deleted"), "{said}");
    assert_eq!(run(&["status"], 0).await.0, built_in);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_in_a_database_that_is_left_behind_are_told() {
    let (ground, line) = (TestEnv::new(Parts::Servers).await, emulator().await);
    let text = ground.folder.path().join("chat.txt");
    let chat = "[LINE] Chat history in Club\nSaved on: 2024/01/06 10:00\n\n2024/01/05(Fri)\n\
                09:31\tAnn\thello\n09:32\tBob\thi there\n";
    std::fs::write(&text, chat).unwrap();
    let mut process = ground.serve(&line).await;
    let warning = "From SQLite to PostgreSQL";
    assert!(!process.stderr().iter().any(|line| line.contains(warning)));
    assert!(process.terminate().await.success());
    let text = text.display().to_string();
    let (channel, user) =
        ("C00000000000000000000000000000001", "U00000000000000000000000000000001");
    let import = ["--database", "sqlite", "import", &text, "--channel", channel, "--user", user];
    ground.said(&line, &[&import[..], &["--time-zone", "UTC"]].concat()).await;
    let mut process = ground.serve(&line).await;
    assert!(process.stderr().iter().any(|line| line.contains(warning)));
    assert!(process.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_in_the_database_is_told_what_it_needs() {
    let (ground, line) = (TestEnv::new(Parts::Servers).await, emulator().await);
    let database = ground.database.as_ref().unwrap();
    let role = format!("r{}", chatkeep_core::random::random_name());
    database.query(&format!("CREATE ROLE {role} LOGIN")).await;
    let mut process =
        ground.program(&line, &["--database", &database.url_as(&role), "migrate"]).start();
    assert!(!process.finish().await.success());
    let said = process.stderr().join("\n");
    assert!(said.contains("lacks a right: make it the owner of the database"), "{said}");
    database.query(&format!("DROP ROLE {role}")).await;
}
