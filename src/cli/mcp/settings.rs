//! `chatkeep mcp config`: the settings of a client, printed or written into its file.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chatkeep_services::mcp_clients::{ClientAccess, KEY_VARIABLE, McpClient, SERVER, SetupPlace};
use chatkeep_transfer::out::{note, say};
use clap::builder::PossibleValuesParser;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use super::EndpointArgs;
use crate::app::PreflightError;

/// Stand-in for a key that is not given.
const YOUR_KEY: &str = "ck_YOUR_KEY";
/// Mode of a new settings file, which may hold a key.
const OWN: u32 = 0o600;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct McpConfigArgs {
    /// Client to set up.
    #[arg(long, value_parser = PossibleValuesParser::new(McpClient::ALL.map(McpClient::id)))]
    client: String,
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// Have the person sign in with the browser instead of using a key.
    #[arg(long, conflicts_with = "key_file")]
    sign_in: bool,
    /// Write the settings into the client's file; other settings in it stay.
    #[arg(long)]
    write: bool,
    #[arg(long, env = "HOME", hide = true)]
    home: Option<PathBuf>,
}

impl McpConfigArgs {
    fn client(&self) -> McpClient {
        let chosen = |client: &McpClient| client.id() == self.client;
        // The command line takes no other names.
        McpClient::ALL.into_iter().find(chosen).unwrap_or(McpClient::Claude)
    }
}

/// Prints or writes the settings.
pub(super) fn run(args: &McpConfigArgs) -> anyhow::Result<()> {
    let address = args.endpoint.address()?.to_string();
    let key = if args.sign_in { None } else { args.endpoint.key()? };
    let program = std::env::current_exe().context("cannot find this program")?;
    let program = program.display().to_string();
    if args.write {
        return write(args, &address, key.as_ref(), &program);
    }
    let access = match &key {
        _ if args.sign_in => ClientAccess::SignIn,
        Some(key) => ClientAccess::Key(key.expose_secret()),
        None => ClientAccess::Key(YOUR_KEY),
    };
    let setup = args.client().setup(&address, access, Some(&program));
    let setup = setup.ok_or_else(|| unusable(args))?;
    match setup.place {
        SetupPlace::Page => note!("In the settings of {}, add this address:", args.client().name()),
        SetupPlace::Terminal { .. } => note!("Run this in a terminal:"),
        SetupPlace::File(file) => note!("Put this into {file}, or use --write:"),
    }
    say!("{}", setup.text)?;
    if let SetupPlace::Terminal { then: Some(then) } = setup.place {
        note!("Then type {then} in {} and sign in.", args.client().name());
    }
    Ok(())
}

fn unusable(args: &McpConfigArgs) -> PreflightError {
    let name = args.client().name();
    PreflightError(if args.sign_in {
        format!("{name} cannot sign in by itself: give it a key (without --sign-in)")
    } else {
        format!("{name} takes no key: people sign in there (--sign-in)")
    })
}

fn write(
    args: &McpConfigArgs,
    address: &str,
    key: Option<&SecretString>,
    program: &str,
) -> anyhow::Result<()> {
    let client = args.client();
    let access = match key {
        _ if args.sign_in => ClientAccess::SignIn,
        Some(key) => ClientAccess::Key(key.expose_secret()),
        None if names_no_key(client) => ClientAccess::Key(YOUR_KEY),
        None => {
            let why = "no key to write: set CHATKEEP_KEY, name its file with --key-file, or use \
                       --sign-in";
            return Err(PreflightError(why.to_owned()).into());
        }
    };
    client.setup(address, access, Some(program)).ok_or_else(|| unusable(args))?;
    let home = args.home.as_deref().context("the home folder is not known: set HOME")?;
    let Some(path) = path(client, home) else {
        let why = format!("{} is set up on its own page: leave out --write", client.name());
        return Err(PreflightError(why).into());
    };
    let present = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let text = match client.settings(address, access, Some(program)) {
        Some(settings) => merged(&present, settings),
        None => with_section(&present, address, access),
    };
    let text = text.with_context(|| format!("{} was left as it is", path.display()))?;
    replace(&path, &text, !names_no_key(client))
        .with_context(|| format!("cannot write {}", path.display()))?;
    note!("wrote {}", path.display());
    match access {
        ClientAccess::Key(_) if client == McpClient::VsCode => {
            note!("{} asks for the key when it first connects", client.name());
        }
        ClientAccess::Key(_) if names_no_key(client) => {
            note!("{} takes the key from the variable {KEY_VARIABLE}", client.name());
        }
        _ => {}
    }
    Ok(())
}

/// Returns true for clients whose files have no key in them.
const fn names_no_key(client: McpClient) -> bool {
    matches!(client, McpClient::ClaudeCode | McpClient::VsCode | McpClient::Codex)
}

/// Returns the settings file of a client; `None` for one that has none.
fn path(client: McpClient, home: &Path) -> Option<PathBuf> {
    Some(match client {
        McpClient::ClaudeDesktop if cfg!(target_os = "macos") => {
            home.join("Library/Application Support/Claude/claude_desktop_config.json")
        }
        McpClient::ClaudeDesktop => home.join(".config/Claude/claude_desktop_config.json"),
        McpClient::Cursor => home.join(".cursor/mcp.json"),
        McpClient::Codex => home.join(".codex/config.toml"),
        // Of the project in the present folder.
        McpClient::ClaudeCode => PathBuf::from(".mcp.json"),
        McpClient::VsCode => PathBuf::from(".vscode/mcp.json"),
        McpClient::Gemini => home.join(".gemini/settings.json"),
        McpClient::Claude | McpClient::ChatGpt => return None,
    })
}

/// Returns a JSON file with these settings: the members of their objects, and the elements of their
/// lists that are not there yet. Everything else stays.
fn merged(present: &str, settings: Value) -> anyhow::Result<String> {
    let mut all: Value = if present.trim().is_empty() {
        Value::Object(Map::new())
    } else {
        serde_json::from_str(present)
            .context("it is not plain JSON (comments are not supported)")?
    };
    let members = all.as_object_mut().context("it is not a JSON object")?;
    let Value::Object(settings) = settings else { bail!("settings are an object") };
    for (name, new) in settings {
        match (members.get_mut(&name), new) {
            (None, new) => drop(members.insert(name, new)),
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (Some(Value::Array(old)), Value::Array(new)) => {
                let missing: Vec<_> = new.into_iter().filter(|one| !old.contains(one)).collect();
                old.extend(missing);
            }
            _ => bail!(
                "{name} is neither an object nor a list as {SERVER} expects it: change it by hand"
            ),
        }
    }
    Ok(format!("{all:#}\n"))
}

/// Returns Codex' TOML file with our section at its end.
fn with_section(present: &str, address: &str, access: ClientAccess<'_>) -> anyhow::Result<String> {
    let table: toml::Table = present.parse().context("it is not TOML")?;
    if table.get("mcp_servers").and_then(|servers| servers.get(SERVER)).is_some() {
        bail!("it has a section mcp_servers.{SERVER} already: remove that first");
    }
    let mut text = present.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let blank = if text.is_empty() { "" } else { "\n" };
    let url = toml::Value::from(address);
    let token = match access {
        ClientAccess::Key(_) => format!("bearer_token_env_var = \"{KEY_VARIABLE}\"\n"),
        ClientAccess::SignIn => String::new(),
    };
    Ok(format!("{text}{blank}[mcp_servers.{SERVER}]\nurl = {url}\n{token}"))
}

/// Replaces a file at once. What may hold a key is its owner's alone; other files keep their mode.
fn replace(path: &Path, text: &str, may_hold_key: bool) -> io::Result<()> {
    // Links stay: people keep such files elsewhere.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let kept = if may_hold_key { 0o700 } else { 0o7777 };
    let mode = fs::metadata(&path).map_or(OWN, |found| found.mode() & kept);
    let mut beside = NamedTempFile::new_in(folder)?;
    beside.write_all(text.as_bytes())?;
    beside.as_file().set_permissions(Permissions::from_mode(mode))?;
    beside.as_file().sync_all()?;
    beside.persist(&path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_settings_of_a_file_stay() {
        let new = || json!({"inputs": [{"id": "key"}], "servers": {"chatkeep": {"url": "new"}}});
        let parsed = |text: String| serde_json::from_str::<Value>(&text).unwrap();
        assert_eq!(parsed(merged("", new()).unwrap()), new());
        let present = r#"{"theme": "dark", "inputs": [{"id": "mine"}],
            "servers": {"other": {"url": "x"}, "chatkeep": 1}}"#;
        let all = parsed(merged(present, new()).unwrap());
        let expected = json!({
            "theme": "dark",
            "inputs": [{"id": "mine"}, {"id": "key"}],
            "servers": {"other": {"url": "x"}, "chatkeep": {"url": "new"}},
        });
        assert_eq!(all, expected);
        assert_eq!(parsed(merged(&all.to_string(), new()).unwrap()), expected, "once");
        for wrong in ["// mine\n{}", "[]", r#"{"servers": []}"#, r#"{"inputs": {}}"#] {
            assert!(merged(wrong, new()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_section_is_added_to_toml_once() {
        let key = ClientAccess::Key("ck_x");
        let address = "https://chat.example.org/mcp";
        let present = "# mine\nmodel = \"x\"";
        let text = with_section(present, address, key).unwrap();
        assert!(text.starts_with("# mine\nmodel = \"x\"\n\n[mcp_servers.chatkeep]\n"), "{text}");
        assert!(text.contains("bearer_token_env_var = \"CHATKEEP_KEY\"") && !text.contains("ck_x"));
        assert!(text.parse::<toml::Table>().is_ok());
        assert!(with_section(&text, address, key).is_err(), "it is there");
        let signed = with_section("", address, ClientAccess::SignIn).unwrap();
        assert!(!signed.contains("bearer"), "{signed}");
    }

    #[test]
    fn a_file_that_may_hold_a_key_is_private() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/mcp.json");
        let mode = || fs::metadata(&path).unwrap().mode() & 0o777;
        replace(&path, "one", true).unwrap();
        assert_eq!(mode(), 0o600);
        let link = folder.path().join("link.json");
        symlink(&path, &link).unwrap();
        for (may_hold_key, expected) in [(false, 0o664), (true, 0o600)] {
            fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
            replace(&link, "two", may_hold_key).unwrap();
            assert_eq!((&*fs::read_to_string(&path).unwrap(), mode()), ("two", expected));
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_place_of_the_new_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("mcp.json"), folder.path().join("other"));
        fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("mcp.json.chatkeep-new")).unwrap();
        replace(&path, "one", true).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
    }
}
