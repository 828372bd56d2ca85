//! Tests of the command line as a whole, over all commands.

use std::collections::BTreeSet;
use std::path::Path;

use clap::CommandFactory as _;
use tempfile::TempDir;

use super::*;

/// Commands that may create data, and those that need none.
const APART: [&str; 18] = [
    "serve",
    "demo",
    "migrate",
    "import",
    "user add",
    "openapi",
    "qa try",
    "line check",
    "mcp config",
    "mcp stdio",
    "config check",
    "config show",
    "completions",
    "man",
    "health",
    "snapshot list",
    "snapshot verify",
    "snapshot restore",
];

/// All other commands, with valid arguments.
const ON_DATA: [&[&str]; 28] = [
    &["user", "list"],
    &["user", "set-plan", "U1", "pro"],
    &["channel", "list"],
    &["channel", "bots"],
    &["channel", "assign", "--channel", "C1", "--bot", "main"],
    &["key", "create", "--user", "U1"],
    &["key", "list", "--user", "U1"],
    &["key", "revoke", "key_1"],
    &["export", "--channel", "C1"],
    &["import", "list"],
    &["import", "undo", "1"],
    &["status"],
    &["search", "word"],
    &["reindex"],
    &["doctor"],
    &["snapshot", "create", "--target", "nowhere"],
    &["snapshot", "prune", "--target", "nowhere"],
    &["snapshot", "adopt", "--target", "nowhere"],
    &["model", "install", "--from", "/nowhere.whl"],
    &["model", "status"],
    &["model", "remove"],
    &["bus", "adopt"],
    &["bus", "consumers"],
    &["bus", "remove-consumer", "old"],
    &["dead", "list"],
    &["dead", "show", "1"],
    &["dead", "retry", "all"],
    &["dead", "drop", "all"],
];

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

/// Collects the names of the commands without subcommands.
fn leaves(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
    let path =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let path = path(inner.get_name());
        if !inner.has_subcommands() || inner.is_args_conflicts_with_subcommands_set() {
            found.insert(path.clone());
        }
        leaves(inner, &path, found);
    }
}

fn run_in(folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    let data = folder.join("data").display().to_string();
    let all = ["chatkeep", "--data", &data].into_iter().chain(args.iter().copied());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    run_on(&runtime, Cli::try_parse_from(all).unwrap())
}

#[test]
fn every_other_command_says_that_there_is_no_data_and_makes_none() {
    let mut commands = BTreeSet::new();
    leaves(&Cli::command(), "", &mut commands);
    for args in ON_DATA {
        let folder = TempDir::new().unwrap();
        let error = run_in(folder.path(), args).unwrap_err();
        assert!(error.downcast_ref::<PreflightError>().is_some(), "{args:?}: {error:#}");
        let told = error.to_string();
        assert!(told.contains("give --data"), "{args:?}: {told}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{args:?}");
        commands.retain(|command| !args.join(" ").starts_with(command.as_str()));
    }
    commands.retain(|command| !APART.contains(&command.as_str()));
    assert_eq!(commands, BTreeSet::new(), "commands that this test does not know");
}

#[test]
fn a_new_database_without_a_service_is_data() {
    let folder = TempDir::new().unwrap();
    run_in(folder.path(), &["user", "add", "U1"]).unwrap();
    for args in [&["user", "list"][..], &["status"], &["doctor"]] {
        run_in(folder.path(), args).unwrap();
    }
    // The bus is created by the service.
    let error = run_in(folder.path(), &["dead", "list"]).unwrap_err();
    assert!(error.to_string().starts_with("no chatkeep process has used the bus in "), "{error:#}");
}

#[test]
fn keys_end_in_the_future_and_are_for_channels_that_there_are() {
    let folder = TempDir::new().unwrap();
    run_in(folder.path(), &["user", "add", "U1"]).unwrap();
    for (flag, value, why) in [
        ("--expires", "2020-01-01", "--expires must be in the future"),
        ("--channel", "Cnone", "--channel: unknown channel Cnone"),
    ] {
        let error = run_in(folder.path(), &["key", "create", "--user", "U1", flag, value]);
        assert_eq!(error.unwrap_err().to_string(), why);
    }
}

#[test]
fn every_list_can_be_had_as_json() {
    const LISTS: [&str; 14] = [
        "user list",
        "channel list",
        "channel bots",
        "key list",
        "import list",
        "snapshot list",
        "status",
        "search",
        "doctor",
        "bus consumers",
        "dead list",
        "line check",
        "config check",
        "config show",
    ];
    let mut commands = BTreeSet::new();
    leaves(&Cli::command(), "", &mut commands);
    let lists =
        commands.iter().filter(|name| LISTS.contains(&name.as_str()) || name.ends_with("list"));
    let mut count = 0;
    for name in lists {
        let cli = Cli::command();
        let mut command = &cli;
        for part in name.split(' ') {
            command = command.find_subcommand(part).unwrap();
        }
        assert!(command.get_arguments().any(|arg| arg.get_id() == "json"), "{name}");
        count += 1;
    }
    assert_eq!(count, LISTS.len());
}

#[test]
fn options_of_every_command_are_listed_apart() {
    let mut cli = Cli::command();
    cli.build();
    let command = cli.find_subcommand_mut("search").unwrap();
    let help = command.render_help().to_string();
    let (own, settings) = help.split_once(SETTINGS).unwrap();
    for flag in ["--config", "--listen", "--data", "--database", "--bus", "--blobs"] {
        assert!(settings.contains(flag) && !own.contains(flag), "{flag}: {help}");
    }
    assert!(own.contains("--limit") && own.contains("--json"), "{help}");
}

/// Returns the help of a command, without the options that every command has.
fn help(path: &str) -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut command = &mut cli;
    for part in path.split(' ') {
        command = command.find_subcommand_mut(part).unwrap();
    }
    let help = command.render_long_help().to_string();
    help.split(SETTINGS).next().unwrap().trim_end().to_owned()
}

#[test]
fn commands_of_the_operator_say_what_they_do() {
    for path in ["line check", "config check", "config show", "completions", "man"] {
        insta::assert_snapshot!(path.replace(' ', "_"), help(path));
    }
}

#[test]
fn every_command_has_a_manual_page_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let into = folder.path().join("man1");
    let run = |args: &[&str]| run_in(folder.path(), args);
    run(&["man", into.to_str().unwrap()]).unwrap();
    let pages = into.read_dir().unwrap().map(|page| page.unwrap().file_name());
    let pages: BTreeSet<_> = pages.map(|name| name.into_string().unwrap()).collect();
    let mut commands = BTreeSet::new();
    leaves(&Cli::command(), "", &mut commands);
    for command in commands {
        let page = format!("chatkeep-{}.1", command.replace(' ', "-"));
        assert!(pages.contains(&page), "no {page}");
    }
    assert!(pages.contains("chatkeep.1") && !pages.iter().any(|page| page.contains("help")));
    let text = std::fs::read_to_string(into.join("chatkeep-line-check.1")).unwrap();
    assert!(text.contains(r"chatkeep\-line\-check 1") || text.contains("chatkeep-line-check 1"));
    assert!(text.contains(r"\-\-fix"), "{text}");
    assert!(!folder.path().join("data").exists(), "it needs no data");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = run(&["man", file.to_str().unwrap()]).unwrap_err();
    assert!(error.to_string().starts_with("cannot write manual pages to "), "{error}");
}
