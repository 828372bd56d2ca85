//! Rules of migrations that their texts show (docs/migrations.md).

use std::fs;
use std::path::Path;

use super::{FOLDER, landed};

/// Sentence that a migration without which processes of an earlier version go wrong begins with.
const STOP: [&str; 2] = ["stopped first", "stop them first"];
/// Migrations that landed without such a sentence although processes of an earlier version go wrong:
/// 0024 has them purge replies that they do not count.
const UNSAID: [i64; 1] = [24];
/// First migration of the rules of `docs/migrations.md`; what landed before was never run beside
/// another version.
const FIRST_BESIDE: i64 = 16;
/// Last migration before the first release: what operators must know of these is in
/// docs/migrations.md, of later ones in the changelog.
const LAST_UNRELEASED: i64 = 31;
/// First migration whose indexes have to follow rule 4; those of 0025 are built while writers wait.
pub(super) const FIRST_CONCURRENT: i64 = 27;
/// First line of a migration whose indexes are built beside writers.
const CONCURRENT: &str = "-- concurrently\n";
/// Tables with few rows in any deployment, whose indexes may be built while writers wait.
const SMALL: [&str; 9] = [
    "api_keys",
    "assistants",
    "channels",
    "deployment",
    "imports",
    "job_leases",
    "processes",
    "saved_searches",
    "webhooks",
];

/// Returns the comments that a migration begins with, as one line.
fn head(text: &str) -> String {
    let head = text.lines().take_while(|line| line.starts_with("--")).collect::<Vec<_>>();
    head.join(" ").replace("-- ", "")
}

/// Returns the statements of a migration, in one line each and upper case.
fn statements(text: &str) -> Vec<String> {
    let code: Vec<_> = text.lines().map(|line| line.split("--").next().unwrap()).collect();
    let words = |statement: &str| statement.split_whitespace().collect::<Vec<_>>().join(" ");
    code.join("\n").split(';').map(|statement| words(statement).to_uppercase()).collect()
}

#[test]
fn a_migration_that_renames_or_drops_says_that_processes_have_to_be_stopped() {
    let read = |name: &str| fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    let (changelog, page) = (read("../CHANGELOG.md"), read("../docs/migrations.md"));
    let (_, list) = page.split_once("## Migrations before the first release").unwrap();
    let (list, _) = list.split_once("\n## ").unwrap();
    for database in ["sqlite", "postgres"] {
        for (number, path) in landed(database) {
            let text = fs::read_to_string(&path).unwrap();
            let head = head(&text);
            let says = STOP.iter().any(|sentence| head.contains(sentence));
            if number >= FIRST_BESIDE {
                let code = statements(&text).join(" ");
                let breaks =
                    ["RENAME ", "DROP TABLE", "DROP COLUMN"].iter().any(|word| code.contains(word));
                assert!(says || !breaks, "{database} {number}: {head}");
            }
            let told = if number <= LAST_UNRELEASED { list } else { &changelog };
            let named = told.contains(&format!("{number:04}"));
            assert!(
                named || !(says || UNSAID.contains(&number)),
                "operators are not told of {number}"
            );
        }
    }
}

/// Returns the plain index statements of a migration on tables that may have many rows.
fn blocking(text: &str) -> Vec<String> {
    let statements = statements(text);
    let begins = |statement: &str, begin: &str| {
        statement.strip_prefix(begin)?.split([' ', '(']).next().map(str::to_owned)
    };
    let made: Vec<_> =
        statements.iter().filter_map(|statement| begins(statement, "CREATE TABLE ")).collect();
    let blocks = |statement: &&String| {
        let index = ["CREATE INDEX ", "CREATE UNIQUE INDEX "];
        let Some(rest) = index.iter().find_map(|begin| statement.strip_prefix(begin)) else {
            return false;
        };
        let table = rest.split_once(" ON ").and_then(|(_, table)| begins(table, ""));
        let table = table.unwrap_or_default();
        let small = SMALL.iter().any(|small| small.to_uppercase() == table);
        !made.contains(&table) && !small
    };
    if text.starts_with(CONCURRENT) {
        return Vec::new();
    }
    statements.iter().filter(blocks).cloned().collect()
}

#[test]
fn an_index_of_a_large_table_is_built_beside_writers() {
    let own = "CREATE TABLE t (a TEXT); CREATE INDEX i ON t (a);";
    assert!(blocking(own).is_empty());
    assert!(blocking("CREATE INDEX i ON channels (a);").is_empty());
    assert!(blocking("-- concurrently\nCREATE INDEX IF NOT EXISTS i ON messages (a);").is_empty());
    assert_eq!(blocking("CREATE INDEX IF NOT EXISTS i ON messages (a);").len(), 1);
    assert_eq!(blocking("CREATE UNIQUE INDEX i\n    ON messages(a);").len(), 1);
    for (number, path) in landed("postgres") {
        let text = fs::read_to_string(&path).unwrap();
        let blocking = blocking(&text);
        let excused =
            number < FIRST_CONCURRENT || STOP.iter().any(|stop| head(&text).contains(stop));
        assert!(excused || blocking.is_empty(), "{number}: {blocking:?}");
        if text.starts_with(CONCURRENT) {
            let only = |one: &String| {
                let begins = ["CREATE INDEX IF NOT EXISTS ", "CREATE UNIQUE INDEX IF NOT EXISTS "];
                one.is_empty() || begins.iter().any(|begin| one.starts_with(begin))
            };
            assert!(statements(&text).iter().all(only), "{number}: nothing but such indexes");
        }
    }
}
