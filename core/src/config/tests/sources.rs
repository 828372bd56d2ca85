//! Tests of the precedence of sources, and of the choice of the settings file.

use std::ffi::OsString;
use std::path::Path;

use super::super::{Config, ConfigError, Sources};
use super::{sources, told};

#[test]
fn later_sources_weigh_more() {
    let file = "listen = \"127.0.0.1:1\"\n[workers]\nbatch = 7\nlease_seconds = 9\n";
    let environment = [
        ("CHATKEEP_LISTEN", "127.0.0.1:2"),
        ("CHATKEEP_WORKERS_BATCH", "8"),
        ("CHATKEEP_REPLY_PUSH_FALLBACK", "true"),
        ("HOME", "/x"),
    ];
    let config = Config::load(sources(file, &environment, &[("listen", "127.0.0.1:3")])).unwrap();
    assert_eq!(config.listen.port(), 3);
    assert_eq!((config.workers.batch, config.workers.lease.as_secs()), (8, 9));
    assert!(config.reply.push_fallback);
    assert_eq!(config.workers.concurrency, 16);
    assert!(config.warnings.is_empty());
}

fn gather(named: Option<&str>, folder: &Path, config: Option<&str>) -> Result<u16, ConfigError> {
    let environment = config.map(|path| (OsString::from("CHATKEEP_CONFIG"), OsString::from(path)));
    let usual = ["chatkeep.toml", "etc/chatkeep.toml"];
    let sources = Sources::gather(named.map(Into::into), folder, &usual, environment, Vec::new())?;
    Config::load(sources).map(|config| config.listen.port())
}

#[test]
fn the_settings_file_is_the_named_one_or_the_usual_one() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, port: u16| {
        let text = format!("listen = \"127.0.0.1:{port}\"");
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    let port = |named, config| gather(named, folder.path(), config);
    assert_eq!(port(None, None).unwrap(), 8080, "there is no file, and none is needed");
    std::fs::create_dir(folder.path().join("etc")).unwrap();
    put("etc/chatkeep.toml", 4);
    assert_eq!(port(None, None).unwrap(), 4, "the second usual file");
    assert_eq!(port(None, Some("")).unwrap(), 8080, "no file is wanted");
    put("chatkeep.toml", 1);
    put("variable.toml", 2);
    put("flag.toml", 3);
    assert_eq!(port(None, None).unwrap(), 1);
    assert_eq!(port(None, Some("variable.toml")).unwrap(), 2);
    assert_eq!(port(Some("flag.toml"), Some("variable.toml")).unwrap(), 3);

    let flag = told(&port(Some("none.toml"), None).unwrap_err());
    assert!(flag.starts_with("cannot read \"none.toml\": No such file"), "{flag}");
    let variable = told(&port(None, Some("none.toml")).unwrap_err());
    assert!(variable.contains("\"none.toml\" (environment CHATKEEP_CONFIG): "), "{variable}");
    std::fs::write(folder.path().join("chatkeep.toml"), [0xff]).unwrap();
    assert!(port(None, None).is_err(), "a file that is there must be read");
    assert_eq!(port(None, Some("")).unwrap(), 8080);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt as _;

    let of = |name: &str| {
        let environment = [(OsString::from(name), OsString::from_vec(vec![b'x', 0xff]))];
        let folder = tempfile::tempdir().unwrap();
        Sources::gather(None, folder.path(), &[], environment, Vec::new()).map(|_| ())
    };
    let text = told(&of("CHATKEEP_DATABASE").unwrap_err());
    assert_eq!(text, "environment CHATKEEP_DATABASE is not UTF-8 text");
    assert!(of("PATH").is_ok(), "other programs' variables are theirs");
}
