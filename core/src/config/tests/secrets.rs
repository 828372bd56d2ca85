//! Tests that secrets can come from files, and that none is ever shown.

use secrecy::ExposeSecret as _;

use super::super::{BusKind, Config, Database};
use super::{error, load, sources};

#[test]
fn secrets_are_taken_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let environment = [
        ("CHATKEEP_LINE_ACCESS_TOKEN_FILE", path("token", "to-ken\n")),
        ("CHATKEEP_LINE_CHANNEL_SECRET_FILE", path("secret", "s3cret\r\n")),
        ("CHATKEEP_DATABASE_FILE", path("database", "postgres://me:pw@db/x\n")),
        ("CHATKEEP_BUS_FILE", path("bus", "nats://me:pw@bus")),
    ];
    let environment: Vec<_> = environment.iter().map(|(n, p)| (*n, p.as_str())).collect();
    let config = load("[line]\naccess_token = \"weighs less\"", &environment).unwrap();
    assert_eq!(config.line[0].access_token.clone().unwrap().expose_secret(), "to-ken");
    assert_eq!(config.line[0].channel_secret.clone().unwrap().expose_secret(), "s3cret");
    let Database::Postgres(url) = config.database else { panic!("not PostgreSQL") };
    assert_eq!(url.expose_secret(), "postgres://me:pw@db/x");
    let BusKind::Nats(url) = config.bus else { panic!("not NATS") };
    assert_eq!(url.expose_secret(), "nats://me:pw@bus");
}

#[test]
fn a_token_that_no_header_can_have_is_refused_and_not_shown() {
    for token in ["abc\ndef", "two words", "tok\u{1}en", "schlüssel"] {
        let refused = load("", &[("CHATKEEP_LINE_ACCESS_TOKEN", token)]).unwrap_err().to_string();
        assert!(refused.contains("line.access_token") && !refused.contains(token), "{refused}");
    }
}

#[test]
fn a_secret_is_one_line_without_the_mark_of_an_editor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        load("", &[("CHATKEEP_LINE_CHANNEL_SECRET_FILE", path.to_str().unwrap())])
    };
    let config = read("\u{feff}s3cret\n").unwrap();
    assert_eq!(config.line[0].channel_secret.as_ref().unwrap().expose_secret(), "s3cret");
    let refused = read("s3cret\nsecond\n").unwrap_err().to_string();
    assert!(refused.contains("a secret on one line") && !refused.contains("s3cret"), "{refused}");
}

#[test]
fn an_empty_file_of_a_secret_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty");
    std::fs::write(&path, "\n").unwrap();
    let path = path.display().to_string();
    let file = format!("[line]\nchannel_secret_file = {path:?}");
    let config = load(&file, &[("CHATKEEP_LINE_ACCESS_TOKEN_FILE", &path)]).unwrap();
    assert!(config.line[0].channel_secret.is_none() && config.line[0].access_token.is_none());
    let expected = [
        "line.channel_secret is not set: the file that my.toml, line 2 names is empty",
        "line.access_token is not set: the file that environment CHATKEEP_LINE_ACCESS_TOKEN_FILE \
         names is empty",
    ];
    assert_eq!(config.warnings, expected);
}

#[test]
fn a_file_of_a_secret_must_be_there_and_alone() {
    let missing = error("", &[("CHATKEEP_BUS_FILE", "/nowhere/hunter2")]);
    let expected = "cannot read the file that environment CHATKEEP_BUS_FILE names: No such file";
    assert!(missing.starts_with(expected), "{missing}");
    let twice = [("CHATKEEP_LINE_ACCESS_TOKEN", "a"), ("CHATKEEP_LINE_ACCESS_TOKEN_FILE", "b")];
    assert_eq!(
        error("", &twice),
        "environment CHATKEEP_LINE_ACCESS_TOKEN and CHATKEEP_LINE_ACCESS_TOKEN_FILE are both set; \
         set one of them"
    );
}

#[test]
fn secrets_are_never_shown() {
    let environment = [
        ("CHATKEEP_LINE_ACCESS_TOKEN", "hunter2"),
        ("CHATKEEP_DATABASE", "postgres://me:hunter2@db/x?password=hunter2"),
        ("CHATKEEP_BUS", "nats://me:hunter2@bus,nats://hunter2@other:4223"),
    ];
    let flags = [("database", "postgres://me:hunter2@db/y?sslpassword=hunter2")];
    let all = sources("[line]\nchannel_secret = \"hunter2\"", &environment, &flags);
    let shown = format!("{all:?} {:?} {:?}", all.overrides, Config::load(all.clone()).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("Database(postgres://…@db/y)"), "{shown}");

    for file in [
        "[line]\nchannel_secret = hunter2",
        "[line]\nchannel_secret = \"hunter2",
        "[line]\nchannel_secret = [\"hunter2\"]",
        "[line]\nchannel_secret = { hunter2 = 1 }\naccess_token = \"hunter2\\q\"",
        "line = \"hunter2\"",
        "database = [\"postgres://me:hunter2@db\"]",
        "database = \"mysql://me:hunter2@db\"",
        "database = \"postgres://me:hunter2\"",
        "bus = \"nats://me:hunter2@\"",
        "bus = \"amqp://me:hunter2@bus\"",
        "blobs = \"s3://key:hunter2@bucket\"",
        "blobs = \"https://store/?key=hunter2\"",
        "[line]\napi_base = \"https://me:hunter2@host\"",
        "[line]\napi_base = \"me:hunter2@host\"",
        "[line]\napi_base = \"https://host/?token=hunter2\"",
        "[line]\napi_base = \"https://me:1/hunter2@host\"",
    ] {
        let text = error(file, &[]);
        assert!(!text.contains("hunter2") && text.starts_with("my.toml, line "), "{text}");
        let debug = format!("{:?}", load(file, &[]).unwrap_err());
        assert!(!debug.contains("hunter2"), "{debug}");
    }
    for name in ["CHATKEEP_DATABASE", "CHATKEEP_BUS"] {
        let text = error("", &[(name, "hunter2")]);
        assert!(text.contains(" is not acceptable; allowed: ") && !text.contains("hunter2"));
    }
}

#[test]
fn the_settings_are_shown_as_a_file_without_secrets() {
    let file = "[[line]]\nname = \"shop\"\naccess_token = \"hunter2\"\n[snapshot]\nkeep = 7";
    let environment =
        [("CHATKEEP_DATABASE", "postgres://me:hunter2@db/x"), ("CHATKEEP_DATA", "/srv/chat")];
    let shown = load(file, &environment).unwrap().shown;
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("# line.shop.access_token: a secret\n"), "{shown}");
    assert!(shown.contains("# database: postgres://…@db/x\n"), "{shown}");
    let again = load(&shown, &[]).unwrap();
    assert_eq!(
        (again.snapshot.keep, again.data.display().to_string()),
        (7, "/srv/chat".to_owned())
    );
    assert_eq!(again.line[0].name, "shop");
}
