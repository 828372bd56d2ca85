//! Tests of the migrations: both databases get the same schema, and landed files stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::Fixture;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");

/// The folders of `migrations/`, by database.
const DATABASES: [&str; 2] = ["sqlite", "postgres"];

/// Committed hashes of the landed files, as `sha256sum` writes them.
const LANDED: &str = "landed.sha256";

/// A difference between the schemas that there must be.
struct Exception {
    sqlite: &'static [&'static str],
    postgres: &'static [&'static str],
    why: &'static str,
}

const EXCEPTIONS: [Exception; 1] = [Exception {
    sqlite: &[
        "outbox_events primary key (seq)",
        "index outbox_events_rebuilds on outbox_events (seq) where type = 'search.rebuild'",
    ],
    postgres: &[
        "outbox_events.tx integer not null default pg_current_xact_id",
        "outbox_events primary key (tx, seq)",
        "index outbox_events_rebuilds on outbox_events (tx, seq) where type = 'search.rebuild'",
    ],
    why: "SQLite has one writer, so that the numbers of rows are in commit order; in PostgreSQL the \
          writing transaction belongs to the order",
}];

/// Returns what a schema consists of: columns with type, nullability and default, primary, unique
/// and foreign keys, indexes with their columns and conditions; in the same words for both
/// databases.
async fn schema(fixture: &Fixture) -> BTreeSet<String> {
    let sql = if fixture.is_sqlite() {
        include_str!("migrations/sqlite.sql")
    } else {
        include_str!("migrations/postgres.sql")
    };
    fixture.value(sql).await.lines().map(in_the_same_words).collect()
}

/// Rewrites types that stand for each other, and PostgreSQL's casts and parentheses.
fn in_the_same_words(element: &str) -> String {
    let mut text = element.to_owned();
    for (own, common) in [
        ("::text", ""),
        ("::bigint", ""),
        (" bigint", " integer"),
        (" boolean", " integer"),
        (" default false", " default 0"),
        (" ~~ ", " LIKE "),
    ] {
        text = text.replace(own, common);
    }
    let end = [" where ", " default "].iter().filter_map(|word| text.find(word)).min();
    let (head, expression) = text.split_at(end.unwrap_or(text.len()));
    let expression = expression.replace(['(', ')'], "");
    (head.to_owned() + &expression).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn both_databases_have_the_same_schema() {
    let sqlite = schema(&Fixture::sqlite().await).await;
    let postgres = schema(&Fixture::postgres().await).await;
    for element in [
        "channels.bytes integer not null default 0",
        "members primary key (channel_id, user_id)",
        "members foreign key (channel_id) references channels (channel_id)",
        "sessions unique (session_id)",
        "unique index webhook_deliveries_once on webhook_deliveries (webhook_id, event_id)",
    ] {
        assert!(sqlite.contains(element), "{element} is not in {sqlite:#?}");
    }
    let own = |side: fn(&Exception) -> &'static [&'static str]| -> BTreeSet<String> {
        EXCEPTIONS.iter().flat_map(side).map(|element| (*element).to_owned()).collect()
    };
    let allowed = || EXCEPTIONS.map(|exception| exception.why).join("; ");
    let only_sqlite: BTreeSet<_> = sqlite.difference(&postgres).cloned().collect();
    let only_postgres: BTreeSet<_> = postgres.difference(&sqlite).cloned().collect();
    let expected = (own(|exception| exception.sqlite), own(|exception| exception.postgres));
    assert_eq!((only_sqlite, only_postgres), expected, "allowed only: {}", allowed());
}

/// Returns every file of the folders by its path in `migrations/`, with its hash.
fn present() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for database in DATABASES {
        for entry in fs::read_dir(Path::new(FOLDER).join(database)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let hash = hex::encode(Sha256::digest(fs::read(&path).unwrap()));
            found.insert(format!("{database}/{name}"), hash);
        }
    }
    found
}

/// Compares the files with the committed list; returns a sentence about each difference.
fn differences(listed: &str, present: &BTreeMap<String, String>) -> Vec<String> {
    let listed: BTreeMap<&str, &str> = listed
        .lines()
        .map(|line| line.split_once("  ").unwrap())
        .map(|(hash, path)| (path, hash))
        .collect();
    let landed = listed.iter().filter_map(|(path, hash)| match present.get(*path) {
        Some(found) if found == hash => None,
        Some(_) => Some(format!(
            "migrations/{path} has landed and was edited: databases know its checksum and would \
             refuse to start; restore it and write a new migration"
        )),
        None => Some(format!(
            "migrations/{path} has landed and is missing: databases have run it and would refuse \
             to start; restore it"
        )),
    });
    let new = present.keys().filter(|path| !listed.contains_key(path.as_str())).map(|path| {
        format!("migrations/{path} is new: run `sha256sum {path} >> {LANDED}` in migrations/")
    });
    landed.chain(new).collect()
}

#[test]
fn landed_files_are_as_they_landed() {
    let listed = fs::read_to_string(Path::new(FOLDER).join(LANDED)).unwrap();
    let differences = differences(&listed, &present());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn an_edited_a_missing_and_a_new_file_are_told_apart() {
    let listed = "aa  sqlite/0001_a.sql\nbb  sqlite/0002_b.sql\ncc  sqlite/0003_c.sql\n";
    let present = [("1_a", "aa"), ("2_b", "00"), ("4_d", "dd")]
        .map(|(name, hash)| (format!("sqlite/000{name}.sql"), hash.to_owned()));
    let [edited, missing, new] = &differences(listed, &present.into())[..] else { panic!() };
    assert!(edited.starts_with("migrations/sqlite/0002_b.sql has landed and was edited"));
    assert!(missing.starts_with("migrations/sqlite/0003_c.sql has landed and is missing"));
    assert!(new.contains("run `sha256sum sqlite/0004_d.sql >> landed.sha256`"));
}

#[test]
fn each_change_is_a_pair() {
    let paths = present();
    let [sqlite, postgres] = DATABASES.map(|database| {
        let name = |path: &String| path.strip_prefix(&format!("{database}/")).map(str::to_owned);
        paths.keys().filter_map(name).collect::<Vec<_>>()
    });
    assert_eq!(sqlite, postgres);
    let numbers: BTreeSet<_> = sqlite.iter().map(|name| &name[..4]).collect();
    assert_eq!(numbers.len(), sqlite.len(), "a number is used twice: {sqlite:?}");
}
