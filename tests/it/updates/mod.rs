//! Updates: databases of every landed schema, copies before migrations that change data, schemas of
//! later versions, and a running process beside one.

mod beside;
mod indexes;
mod rules;
mod stored;

use std::fs;
use std::path::{Path, PathBuf};

use chatkeep_core::config::Database;
use chatkeep_emulator::Emulator;
use chatkeep_store::Store;
use sqlx::migrate::Migrator;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use tempfile::TempDir;

use crate::harness::files::below;
use crate::harness::postgres::Postgres;
use crate::harness::scratch;
use crate::harness::wait::until;
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack, TestEnv};

use stored::{TEXT, is_understood, steps};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");

/// Returns the landed files of a database with their numbers, in order.
fn landed(database: &str) -> Vec<(i64, PathBuf)> {
    let folder = fs::read_dir(Path::new(FOLDER).join(database)).unwrap();
    let number = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap()[..4].parse().unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths.map(|path| (number(&path), path)).collect();
    found.sort();
    found
}

/// Returns the migrations up to a number. The landed files never change, so what they make is what
/// a program of that time has left.
async fn up_to(database: &str, version: i64) -> Migrator {
    let folder = TempDir::new().unwrap();
    for (number, path) in landed(database) {
        if number <= version {
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    Migrator::new(folder.path()).await.unwrap()
}

/// Makes a SQLite database of that schema.
async fn sqlite_of(folder: &Path, version: i64) {
    let address = format!("sqlite://{}?mode=rwc", folder.join("chatkeep.db").display());
    let mut conn = SqliteConnection::connect(&address).await.unwrap();
    for (number, sql) in steps(version) {
        up_to("sqlite", number).await.run(&mut conn).await.unwrap();
        conn.execute(AssertSqlSafe(sql)).await.unwrap();
    }
    conn.close().await.unwrap();
}

/// Makes a PostgreSQL database of that schema.
async fn postgres_of(url: &str, version: i64) {
    let mut conn = PgConnection::connect(url).await.unwrap();
    for (number, sql) in steps(version) {
        up_to("postgres", number).await.run(&mut conn).await.unwrap();
        conn.execute(AssertSqlSafe(sql)).await.unwrap();
    }
    conn.close().await.unwrap();
}

#[tokio::test]
async fn a_sqlite_database_of_every_landed_schema_is_opened() {
    for (version, _) in landed("sqlite") {
        let folder = scratch::folder("schema-");
        sqlite_of(folder.path(), version).await;
        let state = Store::schema_state(&Database::Sqlite, folder.path()).await.unwrap();
        assert_eq!(state.found, Some(version));
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        is_understood(&store, version).await;
        store.close().await;
        let state = Store::schema_state(&Database::Sqlite, folder.path()).await.unwrap();
        assert_eq!((state.found, state.pending.len()), (Some(state.known), 0), "{version}");
    }
}

#[tokio::test]
async fn a_postgresql_database_of_every_landed_schema_is_opened() {
    for (version, _) in landed("postgres") {
        let database = Postgres::database().await;
        postgres_of(&database.url(), version).await;
        let url = Database::Postgres(database.url().into());
        let state = Store::schema_state(&url, Path::new("")).await.unwrap();
        assert_eq!(state.found, Some(version));
        let store = Store::open(&url, Path::new(""), 1).await.unwrap();
        is_understood(&store, version).await;
        store.close().await;
    }
}

/// Schema before a migration that changes data.
const BEFORE_RENAMING: i64 = 15;

/// Checks that commands do not migrate a database beside a service that may be of an earlier version.
async fn refuse_the_schema(ground: &TestEnv, line: &Emulator) {
    for args in [
        &["status", "--local"][..],
        &["doctor"],
        &["export", "--channel", "C1"],
        &["search", "kept"],
        &["reindex"],
        &["channel", "list"],
        &["key", "list", "--user", "U1"],
        &["user", "list"],
        &["user", "add", "U9"],
        &["import", "list"],
        &["import", concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"), "--channel", "C1"],
        &["snapshot", "create", "--target", "/nowhere"],
    ] {
        let mut process = ground.program(line, args).start();
        let code = process.finish().await.code();
        let said = process.stderr().join("\n");
        assert_eq!(code, Some(2), "{args:?}: {said}");
        assert!(said.contains("the database has schema 15, and this program needs"), "{said}");
        assert!(said.contains("`chatkeep migrate`"), "{args:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_do_not_migrate_a_server() {
    let ground = TestEnv::bare(Parts::Servers).await;
    let line = emulator().await;
    postgres_of(&ground.database.as_ref().unwrap().url(), BEFORE_RENAMING).await;
    refuse_the_schema(&ground, &line).await;
    let mut process = ground.program(&line, &["migrate", "--check"]).start();
    assert_eq!(process.finish().await.code(), Some(1));
    assert!(process.stdout()[0].starts_with("0016 "), "{:?}", process.stdout());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_is_copied_before_a_migration_changes_it() {
    let ground = TestEnv::bare(Parts::Embedded).await;
    let line = emulator().await;
    sqlite_of(ground.folder.path(), BEFORE_RENAMING).await;
    let run = async |args: &[&str]| {
        let mut process = ground.program(&line, args).start();
        let code = process.finish().await.code();
        (code, [process.stdout(), process.stderr()].concat().join("\n"))
    };
    let (code, said) = run(&["migrate", "--check"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("0016 standard names: changes data"), "{said}");
    assert!(said.contains("0020 rule changes: adds to the schema"), "{said}");
    assert!(said.contains("schema 15 lacks "), "{said}");
    let copies = ground.folder.path().join("before-migration");
    refuse_the_schema(&ground, &line).await;
    assert_eq!(run(&["migrate", "--check"]).await.1, said);
    assert!(!copies.exists(), "looking changes nothing");

    let (code, said) = run(&["migrate"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the database was copied first"), "{said}");
    assert_eq!(run(&["migrate", "--check"]).await.0, Some(0));
    let place = copies.display().to_string();
    let (code, said) = run(&["snapshot", "verify", "latest", "--target", &place]).await;
    assert_eq!(code, Some(0), "{said}");
    let (_, list) = run(&["snapshot", "list", "--json", "--target", &place]).await;
    let copy: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(copy["manifest"]["schema"], BEFORE_RENAMING);
    assert_eq!(copy["manifest"]["reason"], "migration");
    let back = ground.folder.path().join("back").display().to_string();
    let restore = ["snapshot", "restore", "latest", "--target", &place, "--into", &back];
    let (code, said) = run(&restore).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(
            "data erased since the snapshot is present again: restore once more with --erased-in"
        ),
        "{said}"
    );
    assert!(!said.contains("differences were repaired"), "{said}");
    let store = Store::open(&Database::Sqlite, Path::new(&back), 1).await.unwrap();
    is_understood(&store, BEFORE_RENAMING).await;
    store.close().await;
    // What was taken back since stays so, for the old folder knows it; what counted wrongly is
    // recounted, for the check looks at everything but the files, which are elsewhere.
    let data = ground.folder.path().display().to_string();
    let taken_back = "UPDATE messages SET unsent_at = 40, content = NULL WHERE message_id = 'm2'";
    ground.sql(taken_back).await;
    let back = ground.folder.path().join("again").display().to_string();
    let restore = ["snapshot", "restore", "latest", "--target", &place, "--into", &back];
    let (code, said) = run(&[&restore[..], &["--erased-in", &data]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 erasures made after this snapshot were repeated"), "{said}");
    let store = Store::open(&Database::Sqlite, Path::new(&back), 1).await.unwrap();
    let message = store.messages().message(&"C1".into(), &"m2".into()).await.unwrap();
    assert!(!format!("{message:?}").contains(TEXT), "{message:?}");
    store.close().await;
    // What needs no migration needs no copy.
    assert_eq!(run(&["migrate"]).await.0, Some(0));
    assert_eq!(run(&["snapshot", "list", "--json", "--target", &place]).await.1, list);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_is_interrupted_or_killed_leaves_no_copy_of_what_is_stored() {
    let ground = TestEnv::bare(Parts::Embedded).await;
    let line = emulator().await;
    sqlite_of(ground.folder.path(), BEFORE_RENAMING).await;
    // The copy takes a while.
    ground.sql("CREATE TABLE large AS SELECT zeroblob(64000000) AS content").await;
    let (work, migrate) = (ground.folder.path().join("snapshot-work"), ["migrate"]);
    let begun = async || {
        let process = ground.program(&line, &migrate).start();
        until("the copy is begun", DEADLINE, async || work.join("chatkeep.db").exists()).await;
        process
    };
    let mut process = begun().await;
    let code = process.terminate().await.code();
    let said = process.stderr().join("\n");
    assert!(code == Some(1) && said.contains("interrupted before it was done"), "{said}");
    assert!(!work.exists());
    assert_eq!(below(&ground.folder.path().join("before-migration")), [] as [PathBuf; 0]);

    let mut process = begun().await;
    process.kill().await;
    assert!(work.exists());
    let program = ground.program(&line, &migrate);
    let mut process = program.env("CHATKEEP_SNAPSHOT_BEFORE_MIGRATION_DAYS", "0").start();
    assert_eq!(process.finish().await.code(), Some(0), "{}", process.stderr().join("\n"));
    assert!(!work.exists(), "though no copy was made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_fails_again_and_again_leaves_one_copy() {
    let ground = TestEnv::bare(Parts::Embedded).await;
    let line = emulator().await;
    sqlite_of(ground.folder.path(), BEFORE_RENAMING).await;
    // The next migration cannot be applied: it gives this name to a table.
    ground.sql("CREATE TABLE retractions (id INTEGER)").await;
    let copies = ground.folder.path().join("before-migration/snapshots");
    for _ in 0..3 {
        let mut process = ground.program(&line, &["serve"]).start();
        assert_eq!(process.finish().await.code(), Some(1), "{}", process.stderr().join("\n"));
        assert_eq!(fs::read_dir(&copies).unwrap().count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_before_a_migration_goes_with_its_setting() {
    let mut ground = TestEnv::bare(Parts::Embedded).await;
    let line = emulator().await;
    sqlite_of(ground.folder.path(), BEFORE_RENAMING).await;
    let copies = ground.folder.path().join("before-migration/snapshots");
    let count = || fs::read_dir(&copies).map_or(0, Iterator::count);
    let mut service = ground.serve(&line).await;
    assert_eq!(count(), 1);
    // Within its time it stays, over a run of the job that looks for old ones.
    let ran = format!("http://{}/metrics", ground.metrics);
    until("the job has run", DEADLINE, async || {
        let answer = reqwest::get(&ran).await.unwrap().text().await.unwrap();
        answer.lines().any(|line| line == r#"chatkeep_job_runs_total{name="migration_copies"} 1"#)
    })
    .await;
    assert!(service.terminate().await.success());
    assert_eq!(count(), 1);
    ground.settings.push(("CHATKEEP_SNAPSHOT_BEFORE_MIGRATION_DAYS", "0".to_owned()));
    let mut service = ground.serve(&line).await;
    until("the copy is removed", DEADLINE, async || count() == 0).await;
    assert!(service.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_of_a_later_version_is_refused_with_a_clear_sentence() {
    let ground = TestEnv::new(Parts::Embedded).await;
    let line = emulator().await;
    ground.sql(&later("x'00'")).await;
    for args in [&["serve"][..], &["migrate"], &["migrate", "--check"], &["status"], &["doctor"]] {
        let mut process = ground.program(&line, args).start();
        let code = process.finish().await.code();
        let said = process.stderr().join("\n");
        assert_eq!(code, Some(2), "{args:?}: {said}");
        let sentence =
            "this database was written by a newer chatkeep (schema 9999; this one knows ";
        assert!(said.contains(sentence), "{args:?}: {said}");
    }
}

/// Returns the statement by which a later version notes its migration.
fn later(checksum: &str) -> String {
    format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', TRUE, {checksum}, 1)"
    )
}

/// Changes that the next version may make while processes of this one run: new tables, and new
/// columns that are nullable or have a default, in every table.
const EXPAND: &str = "
    DO $$ DECLARE t record; BEGIN
        FOR t IN SELECT relname FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
                   AND NOT relispartition AND relname NOT LIKE '\\_sqlx%'
        LOOP
            EXECUTE format('ALTER TABLE %I ADD COLUMN later_text TEXT,
                            ADD COLUMN later_count BIGINT NOT NULL DEFAULT 0', t.relname);
            -- Each table on its own, as migrations of the next version would be.
            COMMIT;
        END LOOP;
        CREATE TABLE later_rows (id BIGINT PRIMARY KEY);
    END $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_process_goes_on_while_the_next_version_expands_the_schema() {
    let mut stack = Stack::start(Parts::Servers, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (chat, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    // Its statements are prepared by now.
    stack.line.say(chat, user, "what are your hours").await.unwrap();
    stack.kept(chat, 2).await;
    stack.sql(EXPAND.to_owned()).await;
    stack.sql(later("'\\x00'")).await;

    let told = stack.line.say(chat, user, "wifi please").await.unwrap();
    stack.kept(chat, 4).await;
    stack.line.edit(told.message_id().unwrap(), "wifi?").await.unwrap();
    let regret = stack.line.say(chat, user, "no").await.unwrap();
    stack.kept(chat, 5).await;
    stack.line.unsend(regret.message_id().unwrap()).await.unwrap();
    stack.kept(chat, 4).await;
    let assistant = format!("/channels/{chat}/assistant");
    let rule = serde_json::json!({"keywords": ["late"], "question": "", "answer": "yes"});
    stack.post(&format!("{assistant}/qa"), rule).await;
    stack.drained().await;
    assert!(stack.messages(chat).await.len() >= 4);
    // A new process of this version does not start any more; the running one stays ready.
    let mut second = stack.ground.program(&stack.line, &["status"]).start();
    assert_eq!(second.finish().await.code(), Some(2));
    assert!(stack.ready().await);
    stack.sql("DELETE FROM _sqlx_migrations WHERE version = 9999".to_owned()).await;
    stack.is_well().await;
}

#[tokio::test]
async fn a_server_that_says_nothing_ends_the_look_at_its_schema() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://chatkeep@{}/chatkeep", silent.local_addr().unwrap());
    let looked = Store::schema_state(&Database::Postgres(url.into()), Path::new("")).await;
    let error = looked.unwrap_err();
    assert!(error.is_outage(), "{error:?}");
}
