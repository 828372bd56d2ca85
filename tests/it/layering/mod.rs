//! Borders: which crate and which module may use which, and names that are unique.

mod rules;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use self::rules::{
    BULK, CRATE_LIBRARIES, CRATES, EXCEPTIONS, HANDLE_USERS, HANDLES, LAYERS, LIBRARIES, Layer,
    PRIVILEGES, STORE_METHODS, TEST_CRATES, UNBOXED,
};
use self::source::{Function, Name, ROOT, Source, files};

/// Part of the output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; `None` for an ordinary one.
    kind: Option<String>,
}

impl Package {
    /// Returns the folder of a crate in `src/`; `None` for one that is elsewhere.
    fn part(&self) -> Option<&str> {
        let folder = self.manifest_path.strip_prefix(ROOT)?.strip_suffix("/Cargo.toml")?;
        folder.strip_prefix("/src/")
    }
}

impl Dependency {
    fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// Returns the crates of the workspace, each with its direct dependencies of all kinds.
fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Metadata>(&output.stdout).unwrap().packages
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn crates_use_only_those_below_them() {
    let packages = packages();
    let ours: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let rules: BTreeMap<_, _> = CRATES.iter().copied().collect();
    let known: BTreeSet<_> = rules.keys().copied().collect();
    assert_eq!(ours, known, "CRATES in tests/it/layering/rules.rs names other crates");
    let (mut faults, mut unused) = (Vec::new(), TEST_CRATES.to_vec());
    for package in &packages {
        let may_use = rules[package.name.as_str()];
        for dependency in &package.dependencies {
            let name = &dependency.name;
            let for_tests = dependency.is_for_tests()
                && TEST_CRATES.contains(&(package.name.as_str(), name.as_str()));
            if for_tests {
                unused.retain(|known| *known != (package.name.as_str(), name.as_str()));
            }
            if ours.contains(name.as_str()) && !may_use.contains(&name.as_str()) && !for_tests {
                let file = &package.manifest_path;
                let text = fs::read_to_string(file).unwrap();
                let line = text.lines().position(|line| line.starts_with(name)).unwrap_or(0) + 1;
                faults.push(format!(
                    "{file}:{line}: {} must not use {name}, only {may_use:?}",
                    package.name
                ));
            }
        }
    }
    assert_none(&faults);
    assert!(unused.is_empty(), "TEST_CRATES in tests/it/layering/rules.rs: not used: {unused:?}");
}

#[test]
fn libraries_stay_in_their_crates() {
    let packages = packages();
    let mut faults = Vec::new();
    for rule in CRATE_LIBRARIES {
        for library in rule.libraries {
            let depends = |package: &&Package| {
                package.dependencies.iter().any(|one| one.name == *library && !one.is_for_tests())
            };
            let users = packages.iter().filter(depends).map(|package| package.name.as_str());
            let users: BTreeSet<_> = users.collect();
            let may: BTreeSet<_> = rule.users.iter().copied().collect();
            let why = rule.why;
            faults.extend(users.difference(&may).map(|user| format!("{user}: {library}: {why}")));
            let unused = may.difference(&users);
            faults.extend(unused.map(|user| format!("{user} does not use {library} any more")));
        }
    }
    assert_none(&faults);
}

/// Returns the files of the program: of the crate `chatkeep`, and of those in `src/`.
fn program() -> Vec<Source> {
    files(&Path::new(ROOT).join("src"))
}

/// Returns the layer of a module.
fn layer(module: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.modules.contains(&module))
}

/// Returns the number of the exception that allows a module to use a path.
fn exception(module: &str, path: &str) -> Option<usize> {
    EXCEPTIONS.iter().position(|exception| {
        let rest = path.strip_prefix(exception.path);
        exception.module == module
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Returns the rule against a module's use of a path in the crate. Notes the exception that allows
/// it.
fn forbidden(module: &str, path: &[String], used: &mut BTreeSet<usize>) -> Option<String> {
    let (from, to) = (layer(module)?, layer(path.first()?)?);
    if path[0] == module || from.may_use.contains(&to.name) {
        return None;
    }
    if let Some(number) = exception(module, &path.join("::")) {
        used.insert(number);
        return None;
    }
    let Layer { name, why, .. } = from;
    Some(format!("{module} ({name}) must not use {} ({}): {why}", path[0], to.name))
}

/// Returns the rule against a module's use of a library.
fn forbidden_library(module: &str, library: &str) -> Option<String> {
    let rule = LIBRARIES.iter().find(|rule| rule.crates.contains(&library))?;
    let name = layer(module)?.name;
    let may = rule.users.contains(&module) || rule.users.contains(&name);
    (!may).then(|| format!("{module} ({name}) must not use {library}: {}", rule.why))
}

/// Returns what a file of the program uses against the rules.
fn faults_of(source: &Source, used: &mut BTreeSet<usize>) -> Vec<String> {
    let Some(module) = source.module.first() else { return Vec::new() };
    let mut fault = |Name { line, segments }: Name| {
        let rule = match segments[0].as_str() {
            "crate" => forbidden(module, &segments[1..], used),
            library => forbidden_library(module, library),
        }?;
        Some(format!("{}:{line}: `{}`: {rule}", source.file, segments.join("::")))
    };
    source.paths().into_iter().filter_map(&mut fault).collect()
}

#[test]
fn modules_use_only_those_below_them() {
    let (mut used, mut faults) = (BTreeSet::new(), Vec::new());
    for source in program() {
        faults.extend(faults_of(&source, &mut used));
    }
    for (number, exception) in EXCEPTIONS.iter().enumerate() {
        if !used.contains(&number) {
            faults.push(format!(
                "tests/it/layering/rules.rs: {} does not use {} any more: remove the exception ({})",
                exception.module, exception.path, exception.why,
            ));
        }
    }
    assert_none(&faults);
}

/// Returns true if the module of a file is `module`, or below it.
fn is_within(source: &Source, module: &str) -> bool {
    source
        .module
        .join("::")
        .strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn privileges_are_for_their_callers() {
    let (mut used, mut faults) = (BTreeSet::new(), Vec::new());
    for source in program() {
        for Name { line, segments } in source.paths() {
            let path = |privilege: &&rules::Privilege| {
                segments.ends_with(&privilege.path.map(str::to_owned))
            };
            let Some(privilege) = PRIVILEGES.iter().find(path) else { continue };
            match privilege.callers.iter().find(|caller| is_within(&source, caller)) {
                Some(caller) => _ = used.insert((privilege.path, *caller)),
                None => faults.push(format!(
                    "{}:{line}: `{}` is for {:?}: {}",
                    source.file,
                    segments.join("::"),
                    privilege.callers,
                    privilege.why,
                )),
            }
        }
    }
    for privilege in PRIVILEGES {
        for caller in privilege.callers {
            if !used.contains(&(privilege.path, *caller)) {
                let path = privilege.path.join("::");
                faults.push(format!("{caller} does not call {path} any more: remove it"));
            }
        }
    }
    assert_none(&faults);
}

/// Returns true for a path of a handle in a crate of the workspace: `chatkeep_store::Store`.
fn is_handle(Name { segments, .. }: &Name) -> bool {
    segments[0].starts_with("chatkeep_")
        && HANDLES.iter().any(|handle| segments.ends_with(&[(*handle).to_owned()]))
}

#[test]
fn surfaces_reach_data_through_services() {
    let packages = packages();
    let uses_services =
        |package: &&Package| package.dependencies.iter().any(|one| one.name == "chatkeep-services");
    let parts = packages.iter().filter(uses_services).filter_map(Package::part);
    let parts: BTreeSet<_> = parts.collect();
    let above = |module: &str| {
        let name = layer(module).map(|layer| layer.name);
        parts.contains(module) || matches!(name, Some("edges" | "assembly" | "commands"))
    };
    let (mut used, mut faults) = (BTreeSet::new(), Vec::new());
    for source in program() {
        if !source.module.first().is_some_and(|module| above(module)) {
            continue;
        }
        let of_store = |Name { segments, .. }: &Name| {
            segments[0] == "store" && !STORE_METHODS.contains(&segments[1].as_str())
        };
        let names = source.paths().into_iter().filter(is_handle);
        for name in names.chain(source.calls().into_iter().filter(of_store)) {
            if let Some((user, _)) = HANDLE_USERS.iter().find(|(user, _)| is_within(&source, user))
            {
                used.insert(*user);
                continue;
            }
            let path = name.segments.join("::");
            faults.push(format!("{}:{}: `{path}`: call a service", source.file, name.line));
        }
    }
    for (user, why) in HANDLE_USERS {
        if !used.contains(user) {
            faults.push(format!("{user} names no handle any more: remove it ({why})"));
        }
    }
    assert_none(&faults);
}

#[test]
fn every_module_has_a_place() {
    let (sources, packages) = (program(), packages());
    let parts: BTreeSet<_> = packages.iter().filter_map(Package::part).collect();
    let modules = sources.iter().filter_map(|source| source.module.first()).map(String::as_str);
    let modules: BTreeSet<_> = modules.filter(|module| !parts.contains(module)).collect();
    let placed: Vec<_> = LAYERS.iter().flat_map(|layer| layer.modules).copied().collect();
    let known: BTreeSet<_> = placed.iter().copied().collect();
    assert_eq!(placed.len(), known.len(), "a module has two places");
    let differing: Vec<_> = modules.symmetric_difference(&known).collect();
    let why = "LAYERS in tests/it/layering/rules.rs and the modules of chatkeep differ";
    assert!(differing.is_empty(), "{why}: {differing:?}");
}

/// A future is compiled in each crate that awaits it, again and again: in libraries it is boxed by
/// the attribute, so that it is compiled once (docs/build-time.md).
#[test]
fn futures_are_compiled_once() {
    let (mut faults, mut unused) = (Vec::new(), UNBOXED.to_vec());
    // The program has no users, surfaces are mounted once, and the emulator is for tests and the demo.
    let others = ["", "-api", "-console", "-emulator", "-ingress", "-mcp"];
    let is_library =
        |package: &&Package| !others.iter().any(|end| package.name == format!("chatkeep{end}"));
    for package in packages().iter().filter(is_library) {
        let folder = if package.part().is_some() { "" } else { "src" };
        let sources = files(&Path::new(&package.manifest_path).with_file_name(folder));
        let is_test = |source: &&Source| source.module.iter().any(|part| part.ends_with("tests"));
        for source in sources.iter().filter(|source| !is_test(source)) {
            for Name { line, segments } in source.unboxed() {
                let found = (source.file.as_str(), segments[0].as_str());
                if unused.contains(&found) {
                    unused.retain(|known| *known != found);
                } else {
                    faults.push(format!("{}:{line}: `{}`: add #[boxed]", found.0, found.1));
                }
            }
        }
    }
    assert!(unused.is_empty(), "UNBOXED in tests/it/layering/rules.rs: {unused:?} are boxed");
    assert_none(&faults);
}

#[test]
fn names_of_types_are_unique() {
    let mut faults = Vec::new();
    // The crates in `src/` are one program: a name is unique in all of them.
    for package in packages().iter().filter(|package| package.part().is_none()) {
        let folder = Path::new(&package.manifest_path).with_file_name("src");
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for source in files(&folder) {
            for Name { line, segments } in source.types() {
                places
                    .entry(segments.concat())
                    .or_default()
                    .push(format!("{}:{line}", source.file));
            }
        }
        let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
        faults.extend(repeated.map(|(name, places)| format!("`{name}`: {}", places.join(", "))));
    }
    assert_none(&faults);
}

/// Returns the statements of a file that lock rows of channels.
fn locks_of_channels(file: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
    let statements = text.split("locking!(").skip(1);
    let statements = statements.map(|rest| rest.split(");").next().unwrap_or_default());
    statements.filter(|sql| sql.contains("FROM channels")).map(str::to_owned).collect()
}

#[test]
fn rows_of_channels_are_locked_in_one_place() {
    const PLACE: &str = "core/store/src/channel_locks.rs";
    assert!(!locks_of_channels(PLACE).is_empty());
    let sources = files(&Path::new(ROOT).join("core/store/src"));
    let others = sources.iter().filter(|source| source.file != PLACE);
    let locks = others.flat_map(|source| {
        let fault = |sql| format!("{}: lock channels by {PLACE}: {sql}", source.file);
        locks_of_channels(&source.file).into_iter().map(fault)
    });
    assert_none(&locks.collect::<Vec<_>>());
}

/// Returns the beginning of each plain `JOIN` of a list among a statement's parameters with a table.
fn plain_joins_of_lists(text: &str) -> Vec<String> {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_list = |word: &str| word.trim_start_matches('(').starts_with("json_each($");
    let lists = (0..words.len()).filter(|&at| is_list(words[at]));
    let joined = lists.filter(|&at| {
        let after = words[at + 1..].iter().find(|word| !is_alias(word));
        matches!(after, Some(&("JOIN" | "INNER"))) || words[at].ends_with(',')
    });
    joined.map(|at| words[at..(at + 6).min(words.len())].join(" ")).collect()
}

/// Returns true for a name that a statement gives a table.
fn is_alias(word: &str) -> bool {
    word == "AS" || word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// SQLite may read the table of a plain join from end to end, and the list for each of its rows.
#[test]
fn lists_come_first_in_joins() {
    for (sql, is_plain) in [
        ("SELECT 1 FROM json_each($1) j JOIN a ON a.id = j.value", true),
        ("SELECT 1 FROM json_each($2), a", true),
        ("SELECT 1 FROM json_each($1) AS j INNER JOIN a ON TRUE", true),
        ("SELECT 1 FROM (SELECT value FROM json_each($1)) j JOIN a ON a.id = j.value", true),
        ("SELECT 1 FROM json_each($1) j CROSS JOIN a WHERE a.id = j.value", false),
        ("SELECT 1 FROM json_each($1) j LEFT JOIN a ON a.id = j.value", false),
        ("SELECT 1 FROM a JOIN b USING (id) WHERE id IN (SELECT value FROM json_each($1))", false),
    ] {
        assert_eq!(!plain_joins_of_lists(sql).is_empty(), is_plain, "{sql}");
    }
    let sources = files(&Path::new(ROOT).join("core/store/src"));
    let faults = sources.iter().flat_map(|source| {
        let text = fs::read_to_string(Path::new(ROOT).join(&source.file)).unwrap();
        let fault = |sql| format!("{}: `CROSS JOIN` keeps the order: {sql}", source.file);
        plain_joins_of_lists(&text).into_iter().map(fault).collect::<Vec<_>>()
    });
    assert_none(&faults.collect::<Vec<_>>());
}

/// A pooler hands the server's connections from transaction to transaction: what a session keeps there
/// is another process's next, and its lock is nobody's.
#[test]
fn locks_of_a_server_end_with_transactions() {
    let of_sessions = ["pg_advisory_lock", "pg_try_advisory_lock", "pg_advisory_unlock", "LISTEN "];
    let sources = files(&Path::new(ROOT).join("core/store/src"));
    let faults = sources.iter().flat_map(|source| {
        let text = fs::read_to_string(Path::new(ROOT).join(&source.file)).unwrap();
        let found = of_sessions.iter().filter(move |word| text.contains(*word));
        found.map(|word| format!("{}: `{word}` is of a session", source.file))
    });
    assert_none(&faults.collect::<Vec<_>>());
}

/// A value with `Debug` may end up in a line of the log.
#[test]
fn secrets_are_not_printed() {
    let mut faults = Vec::new();
    for package in packages().iter().filter(|package| package.part().is_none()) {
        for source in files(&Path::new(&package.manifest_path).with_file_name("src")) {
            let fault = |Name { line, segments }: Name| {
                let field = segments.join(".");
                format!("{}:{line}: `{field}`: `SecretString`, or no `Debug`", source.file)
            };
            faults.extend(source.printed_secrets().into_iter().map(fault));
        }
    }
    assert_none(&faults);
}

/// Batches of rows that nobody waits for: SQLite has one writer, and each of them makes everybody
/// else wait for it.
#[test]
fn sweeps_take_turns() {
    let is_sweep = |name: &str| {
        name.starts_with("purge_") || name.starts_with("sweep") || BULK.contains(&name)
    };
    let (mut faults, mut bulk) = (Vec::new(), BTreeSet::new());
    for source in files(&Path::new(ROOT).join("core/store/src")) {
        for Function { line, name, words } in source.functions() {
            if is_sweep(&name) && words.contains("begin") {
                faults.push(format!("{}:{line}: `{name}`: call `begin_bulk`", source.file));
            }
            if words.contains("begin_bulk") {
                bulk.insert(name);
            }
        }
    }
    assert_none(&faults);
    let others: Vec<_> = BULK.iter().filter(|name| !bulk.contains(**name)).collect();
    assert!(
        others.is_empty(),
        "BULK in tests/it/layering/rules.rs: {others:?} are other functions"
    );
    assert!(bulk.contains("purge_idempotency"), "functions of sweeps have other names: {bulk:?}");
}
