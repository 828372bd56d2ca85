//! Tests of several bots: their names, their settings, their variables.

use secrecy::ExposeSecret as _;

use super::super::{Config, LineConfig};
use super::{error, load};

const TWO: &str = "
[[line]]
name = \"shop\"
channel_secret = \"s1\"
access_token = \"t1\"

[[line]]
access_token = \"t2\"
name = \"help-desk\"
api_base = \"http://127.0.0.1:9/\"
";

fn token(bot: &LineConfig) -> &str {
    bot.access_token.as_ref().unwrap().expose_secret()
}

fn names(config: &Config) -> Vec<&str> {
    config.line.iter().map(|bot| bot.name.as_str()).collect()
}

#[test]
fn a_single_section_is_the_bot_main() {
    let config = load("[line]\naccess_token = \"t\"", &[]).unwrap();
    assert_eq!((names(&config), token(&config.line[0])), (vec!["main"], "t"));
    assert_eq!(config.line[0].access_token_variable, "CHATKEEP_LINE_ACCESS_TOKEN");
    assert_eq!(names(&load("", &[]).unwrap()), ["main"]);
}

#[test]
fn each_bot_has_settings_of_its_own() {
    let config = load(TWO, &[]).unwrap();
    let [shop, help] = &config.line[..] else { panic!("{:?}", config.line) };
    assert_eq!((names(&config), token(shop), token(help)), (vec!["shop", "help-desk"], "t1", "t2"));
    assert!(shop.channel_secret.is_some() && help.channel_secret.is_none());
    assert_eq!((&*shop.api_base, &*help.api_base), ("https://api.line.me", "http://127.0.0.1:9"));
    assert_eq!(help.data_api_base, "https://api-data.line.me");
    assert_eq!(help.channel_secret_variable, "CHATKEEP_LINE_HELP_DESK_CHANNEL_SECRET");
    assert_eq!(names(&load("line = [{ name = \"one\" }]", &[]).unwrap()), ["one"]);
}

#[test]
fn variables_name_their_bot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "hunter2\n").unwrap();
    let environment = [
        ("CHATKEEP_LINE_SHOP_ACCESS_TOKEN", "other"),
        ("CHATKEEP_LINE_SHOP_DATA_API_BASE", "http://h"),
        ("CHATKEEP_LINE_HELP_DESK_CHANNEL_SECRET_FILE", path.to_str().unwrap()),
    ];
    let config = load(TWO, &environment).unwrap();
    let [shop, help] = &config.line[..] else { panic!("{:?}", config.line) };
    assert_eq!((token(shop), &*shop.data_api_base), ("other", "http://h"));
    assert_eq!(help.channel_secret.as_ref().unwrap().expose_secret(), "hunter2");
    assert!(config.warnings.is_empty() && !format!("{config:?}").contains("hunter2"));

    // The variables of the single bot belong to no bot then.
    let config = load(TWO, &[("CHATKEEP_LINE_ACCESS_TOKEN", "hunter2")]).unwrap();
    let [warning] = &config.warnings[..] else { panic!("{:?}", config.warnings) };
    assert!(warning.contains("CHATKEEP_LINE_ACCESS_TOKEN is not a setting"), "{warning}");
    assert!(warning.contains("did you mean CHATKEEP_LINE_SHOP_ACCESS_TOKEN?"), "{warning}");
}

#[test]
fn secrets_in_a_file_may_stand_in_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "hunter2\n").unwrap();
    let path = path.to_str().unwrap();
    for section in ["[line]", "[[line]]\nname = \"shop\""] {
        let file = |more: &str| format!("{section}\naccess_token_file = \"{path}\"\n{more}");
        assert_eq!(token(&load(&file(""), &[]).unwrap().line[0]), "hunter2");
        let both = error(&file("access_token = \"x\""), &[]);
        assert!(both.ends_with("access_token_file are both set; set one of them"), "{both}");
        assert!(error(&file("api_base_file = \"x\""), &[]).contains("unknown setting"));
        let missing = error(&file("channel_secret_file = \"/nowhere/hunter2\""), &[]);
        assert!(missing.starts_with("cannot read the file that my.toml, line "), "{missing}");
        assert!(!missing.contains("hunter2"), "{missing}");
    }
}

#[test]
fn what_is_wrong_with_bots_is_said() {
    let allowed = "allowed: 1 to 32 of a-z, 0-9 and -, not ending in \"data\"";
    let bot = |name: &str| format!("[[line]]\nname = {name}\n");
    let missing = "[[line]]\nname = \"a\"\n[[line]]\napi_base = \"http://h\"";
    let expected = format!("my.toml, line 3: name of a [[line]] is missing; {allowed}");
    assert_eq!(error(missing, &[]), expected);
    assert!(error("[[line]]", &[]).starts_with("my.toml, line 1: name of a [[line]] is missing"));
    let long = format!("\"{}\"", "a".repeat(33));
    for bad in ["\"\"", "\"Shop\"", "\"a_b\"", "\"a b\"", "\"x-data\"", "\"data\"", "5", &long] {
        let text = error(&bot(bad), &[]);
        let expected = "my.toml, line 2: name of a [[line]] is ";
        assert!(text.starts_with(expected) && text.ends_with(allowed), "{text}");
    }
    let twice = error(&format!("{}{}", bot("\"a\""), bot("\"a\"")), &[]);
    assert_eq!(
        twice,
        "my.toml, line 4: name of a [[line]] is \"a\" (a duplicate); allowed: a name that no other \
         bot uses"
    );
    let unknown = error(&format!("{}acess_token = \"hunter2\"", bot("\"a\"")), &[]);
    assert_eq!(
        unknown,
        "my.toml, line 3: unknown setting line.a.acess_token (did you mean line.a.access_token?)"
    );
    for secret in ["access_token = [\"hunter2\"]", "channel_secret = 5", "api_base = \"hunter2@h\""]
    {
        let text = error(&format!("{}{secret}", bot("\"a\"")), &[]);
        assert!(
            text.starts_with("my.toml, line 3: line.a.") && !text.contains("hunter2"),
            "{text}"
        );
    }
    assert!(error("[line]\n[[line]]", &[]).starts_with("my.toml, line "));
    assert!(error("line = [1]", &[]).contains("line is not a section"));
}
