//! `chatkeep mcp`: sets up MCP clients, and connects those that only start programs.
//!
//! These commands run where the client is, which need not be where the service runs: they read no
//! settings.

mod settings;
mod stdio;

use std::path::PathBuf;

use anyhow::Context as _;
use chatkeep_mcp::PATH;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::app::PreflightError;

#[derive(Debug, clap::Subcommand)]
pub(super) enum McpCommand {
    /// Prints the settings of an MCP client, or writes them into its settings file.
    Config(settings::McpConfigArgs),
    /// Connects an MCP client over stdio: passes JSON-RPC messages, one per line, between standard
    /// input and output and the service.
    Stdio(stdio::StdioArgs),
}

/// Address of the service, and the key.
#[derive(Debug, clap::Args)]
struct EndpointArgs {
    /// Address of the service, such as <https://chat.example.org>; /mcp is added where no path is.
    #[arg(long, env = "CHATKEEP_API_BASE_URL")]
    url: String,
    /// File with the API key [default: the variable `CHATKEEP_KEY`].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[arg(long = "key-of-environment", env = chatkeep_services::mcp_clients::KEY_VARIABLE, hide = true, hide_env_values = true)]
    key: Option<SecretString>,
}

impl EndpointArgs {
    /// Returns the address of the endpoint.
    fn address(&self) -> Result<Url, PreflightError> {
        let wrong = |why: &str| PreflightError(format!("--url: {why}"));
        let mut url = Url::parse(&self.url).map_err(|error| wrong(&error.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(wrong("must begin with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not contain a password; the key belongs in CHATKEEP_KEY"));
        }
        if url.path() == "/" {
            url.set_path(PATH);
        }
        Ok(url)
    }

    /// Returns the key; `None` if none is given.
    fn key(&self) -> anyhow::Result<Option<SecretString>> {
        let given = |key: &SecretString| !key.expose_secret().trim().is_empty();
        let Some(file) = &self.key_file else { return Ok(self.key.clone().filter(given)) };
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the key from {}", file.display()))?;
        Ok(Some(SecretString::from(text.trim().to_owned())).filter(given))
    }
}

/// Runs a command.
///
/// # Errors
/// Returns an error if an argument is wrong, or if standard input or output fails.
pub(super) async fn run(command: McpCommand) -> anyhow::Result<()> {
    match command {
        McpCommand::Config(args) => settings::run(&args),
        McpCommand::Stdio(args) => stdio::run(&args).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_added_to_an_address_without_a_path() {
        let address = |url: &str| {
            let args = EndpointArgs { url: url.to_owned(), key_file: None, key: None };
            args.address().map(String::from).map_err(|error| error.to_string())
        };
        for url in ["https://chat.example.org", "https://chat.example.org/"] {
            assert_eq!(address(url), Ok("https://chat.example.org/mcp".to_owned()));
        }
        let below = "https://example.org/chat/mcp";
        assert_eq!(address(below), Ok(below.to_owned()));
        for (url, why) in [
            ("chat.example.org", "relative URL"),
            ("ftp://chat.example.org", "must begin with"),
            ("https://me:hunter2@chat.example.org", "must not contain a password"),
        ] {
            let error = address(url).unwrap_err();
            assert!(error.contains(why) && !error.contains("hunter2"), "{error}");
        }
    }
}
