//! Set-up of MCP clients: what each of the usual ones needs to read at `/mcp`.

use serde_json::{Value, json};

/// Name of the server in the settings of clients.
pub const SERVER: &str = "chatkeep";
/// Environment variable from which clients, and the bridge, take the key.
pub const KEY_VARIABLE: &str = "CHATKEEP_KEY";

/// An MCP client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpClient {
    /// Claude on the web.
    Claude,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// `ChatGPT`.
    ChatGpt,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// VS Code.
    VsCode,
}

/// Identification of the person for whom a client reads.
#[derive(Clone, Copy, Debug)]
pub enum ClientAccess<'a> {
    /// They sign in with the browser.
    SignIn,
    /// The client has this key.
    Key(&'a str),
}

/// Place of a client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupPlace {
    /// Its own settings page.
    Page,
    /// A terminal, where the command is run.
    Terminal {
        /// Command to sign in that is then typed in the client, if that is needed.
        then: Option<&'static str>,
    },
    /// A file, as people name it.
    File(&'static str),
}

/// Settings or a command for a client, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSetup {
    pub place: SetupPlace,
    /// Text to copy.
    pub text: String,
}

impl McpClient {
    /// All clients, those that most people have first.
    pub const ALL: [Self; 8] = [
        Self::Claude,
        Self::ChatGpt,
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::VsCode,
    ];

    /// Returns its name on the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::ChatGpt => "chatgpt",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// Returns its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::ChatGpt => "ChatGPT",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
        }
    }

    /// Returns what the client needs to read at that address; `None` if it cannot be used in this
    /// way. Claude Desktop starts a program that connects it: `bridge`, or `mcp-remote` of npm.
    pub fn setup(
        self,
        address: &str,
        access: ClientAccess<'_>,
        bridge: Option<&str>,
    ) -> Option<ClientSetup> {
        let header = |key: &str| format!("Authorization: Bearer {key}");
        let option = |key: &str| format!("--header \"{}\"", header(key));
        let add = |program: &str, before: &str, after: &str| {
            let parts = [
                &format!("{program} mcp add --scope user --transport http"),
                before,
                SERVER,
                address,
                after,
            ];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        let (place, text) = match (self, access) {
            (Self::Claude | Self::ChatGpt, ClientAccess::SignIn) => {
                (SetupPlace::Page, address.to_owned())
            }
            (Self::Claude | Self::ChatGpt, ClientAccess::Key(_))
            | (Self::ClaudeDesktop, ClientAccess::SignIn) => return None,
            (Self::ClaudeCode, ClientAccess::SignIn) => {
                (SetupPlace::Terminal { then: Some("/mcp") }, add("claude", "", ""))
            }
            // What follows this option belongs to it.
            (Self::ClaudeCode, ClientAccess::Key(key)) => {
                (SetupPlace::Terminal { then: None }, add("claude", "", &option(key)))
            }
            (Self::Gemini, ClientAccess::SignIn) => {
                (SetupPlace::Terminal { then: Some("/mcp auth chatkeep") }, add("gemini", "", ""))
            }
            (Self::Gemini, ClientAccess::Key(key)) => {
                (SetupPlace::Terminal { then: None }, add("gemini", &option(key), ""))
            }
            (Self::Codex, ClientAccess::SignIn) => {
                let text =
                    format!("codex mcp add {SERVER} --url {address}\ncodex mcp login {SERVER}");
                (SetupPlace::Terminal { then: None }, text)
            }
            (Self::Codex, ClientAccess::Key(key)) => {
                let text = format!(
                    "export {KEY_VARIABLE}={key}\n\
                     codex mcp add {SERVER} --url {address} --bearer-token-env-var {KEY_VARIABLE}"
                );
                (SetupPlace::Terminal { then: None }, text)
            }
            (Self::ClaudeDesktop | Self::Cursor | Self::VsCode, _) => {
                let settings = self.settings(address, access, bridge)?;
                (SetupPlace::File(self.file()?), format!("{settings:#}"))
            }
        };
        Some(ClientSetup { place, text })
    }

    /// Returns the JSON file of its settings, as people name it; `None` for a client without one.
    const fn file(self) -> Option<&'static str> {
        match self {
            Self::ClaudeDesktop => Some("claude_desktop_config.json"),
            Self::ClaudeCode => Some(".mcp.json"),
            Self::Cursor => Some("~/.cursor/mcp.json"),
            Self::VsCode => Some(".vscode/mcp.json"),
            Self::Gemini => Some("~/.gemini/settings.json"),
            Self::Claude | Self::ChatGpt | Self::Codex => None,
        }
    }

    /// Returns what that file has about this service; `None` for a client without one. The files of
    /// projects are shared, so no key is in them: Visual Studio Code asks for it and keeps it, and
    /// Claude Code takes it from the variable.
    pub fn settings(
        self,
        address: &str,
        access: ClientAccess<'_>,
        bridge: Option<&str>,
    ) -> Option<Value> {
        let remote = |key: &str| {
            let headers = json!({"Authorization": format!("Bearer {key}")});
            json!({"url": address, "headers": headers})
        };
        let started = |program: &str, key: &str| {
            let arguments = ["mcp", "stdio", "--url", address];
            json!({"command": program, "args": arguments, "env": {KEY_VARIABLE: key}})
        };
        let server = match (self, access) {
            (Self::ClaudeDesktop, ClientAccess::Key(key)) => {
                if let Some(program) = bridge {
                    started(program, key)
                } else {
                    let header = format!("Authorization: Bearer {key}");
                    let arguments = json!(["-y", "mcp-remote", address, "--header", header]);
                    json!({"command": "npx", "args": arguments})
                }
            }
            // It replaces variables of programs reliably, those of headers not in every version.
            (Self::ClaudeCode, ClientAccess::Key(_)) => {
                started("chatkeep", &format!("${{{KEY_VARIABLE}}}"))
            }
            (Self::ClaudeCode, ClientAccess::SignIn) => json!({"type": "http", "url": address}),
            (Self::Cursor, ClientAccess::Key(key)) => remote(key),
            (Self::Cursor, ClientAccess::SignIn) => json!({"url": address}),
            (Self::Gemini, ClientAccess::Key(key)) => {
                let headers = json!({"Authorization": format!("Bearer {key}")});
                json!({"httpUrl": address, "headers": headers})
            }
            (Self::Gemini, ClientAccess::SignIn) => json!({"httpUrl": address}),
            (Self::VsCode, access) => return Some(visual_studio_code(address, access)),
            _ => return None,
        };
        Some(json!({"mcpServers": {SERVER: server}}))
    }
}

/// Returns the settings of Visual Studio Code, which asks for the key once.
fn visual_studio_code(address: &str, access: ClientAccess<'_>) -> Value {
    const INPUT: &str = "chatkeep-key";
    let mut server = json!({"type": "http", "url": address});
    if matches!(access, ClientAccess::SignIn) {
        return json!({"servers": {SERVER: server}});
    }
    server["headers"] = json!({"Authorization": format!("Bearer ${{input:{INPUT}}}")});
    let input = json!({
        "type": "promptString",
        "id": INPUT,
        "description": "API key of chatkeep",
        "password": true,
    });
    json!({"inputs": [input], "servers": {SERVER: server}})
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://chat.example.org/mcp";

    #[test]
    fn every_client_has_a_way() {
        for client in McpClient::ALL {
            let ways = [ClientAccess::SignIn, ClientAccess::Key("ck_x")];
            let texts: Vec<_> = ways
                .into_iter()
                .filter_map(|access| client.setup(ADDRESS, access, None))
                .map(|setup| setup.text)
                .collect();
            assert!(!texts.is_empty() && texts.iter().all(|text| text.contains(ADDRESS)));
            assert!(texts.iter().filter(|text| text.contains("ck_x")).count() <= 1, "{texts:?}");
            let access = ClientAccess::Key("ck_x");
            if let Some(settings) = client.settings(ADDRESS, access, Some("chatkeep")) {
                let shared = matches!(client, McpClient::ClaudeCode | McpClient::VsCode);
                assert_eq!(settings.to_string().contains("ck_x"), !shared, "{settings}");
            }
        }
    }

    #[test]
    fn claude_desktop_starts_the_bridge_where_there_is_one() {
        let desktop = McpClient::ClaudeDesktop;
        let text = |bridge| desktop.setup(ADDRESS, ClientAccess::Key("ck_x"), bridge).unwrap().text;
        assert!(text(None).contains("mcp-remote"));
        let bridged: Value = serde_json::from_str(&text(Some("/usr/bin/chatkeep"))).unwrap();
        let entry = &bridged["mcpServers"]["chatkeep"];
        assert_eq!(entry["command"], "/usr/bin/chatkeep");
        assert_eq!(entry["args"], json!(["mcp", "stdio", "--url", ADDRESS]));
        assert_eq!(entry["env"], json!({"CHATKEEP_KEY": "ck_x"}), "no list of processes shows it");
    }
}
