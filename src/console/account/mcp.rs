//! Models that read for the visitor: the address, settings of the usual clients, and consents.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_i18n::{Language, Value};
use chatkeep_store::{Channel, Consent};
use serde_json::json;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, Posted, Question};
use super::super::frame::{Frame, rendered};
use super::super::visitor::Visitor;
use super::{Confirmation, Section, SectionLink, chats, dates, keys, reach};
use crate::view::segment;

/// Stand-in for a key in settings.
const KEY: &str = "ck_YOUR_KEY";

#[derive(Template)]
#[template(path = "console/account/mcp.html", whitespace = "minimize")]
struct McpPage {
    frame: Frame,
    sections: Vec<SectionLink>,
    address: String,
    /// True where a client needs nothing but the address.
    signs_in: bool,
    clients: Vec<Client>,
    consents: Vec<ConsentCard>,
}

/// A client and how it is set up.
struct Client {
    /// Name of the element with the text.
    id: String,
    name: &'static str,
    /// Sentence about where the text belongs.
    place: String,
    /// Text to copy.
    text: String,
}

/// A consent in the list.
struct ConsentCard {
    client: String,
    scopes: Vec<String>,
    chats: Vec<String>,
    since: String,
    used: String,
    /// Path of the page on which it ends.
    path: String,
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    let (caller, language) = (visitor.caller()?, visitor.language);
    let consents = console.services.grants.consents(&caller.user).await?;
    let (chats, dates) = (chats(&console, &visitor).await?, dates(&console, &visitor).await?);
    let signs_in = console.sign_in.is_some();
    let page = McpPage {
        frame: visitor.frame(language.text("mcp-title")),
        sections: Section::Mcp.links(language),
        address: console.mcp.clone(),
        signs_in,
        clients: if signs_in {
            clients_that_sign_in(&console.mcp, language)
        } else {
            clients_with_key(&console.mcp, language)
        },
        consents: consents.iter().map(|one| ConsentCard::of(one, &chats, dates)).collect(),
    };
    rendered(&page)
}

/// Returns the clients where people sign in: the address is enough.
fn clients_that_sign_in(address: &str, language: Language) -> Vec<Client> {
    let client = |name, key: &str, text| Client::new(name, language.text(key), text);
    let signed = |name, command: &str, text| {
        let values = [("client", Value::from(name)), ("command", Value::from(command))];
        Client::new(name, language.format("mcp-in-terminal-sign-in", &values), text)
    };
    let file = |name, file: &str, text| Client::new(name, in_file(file, language), text);
    let cursor = json!({"mcpServers": {"chatkeep": {"url": address}}});
    let code = json!({"servers": {"chatkeep": {"type": "http", "url": address}}});
    let claude_code = format!("claude mcp add --scope user --transport http chatkeep {address}");
    let gemini = format!("gemini mcp add --scope user --transport http chatkeep {address}");
    let codex = format!("codex mcp add chatkeep --url {address}\ncodex mcp login chatkeep");
    vec![
        client("Claude", "mcp-in-claude", address.to_owned()),
        client("ChatGPT", "mcp-in-chatgpt", address.to_owned()),
        signed("Claude Code", "/mcp", claude_code),
        client("Codex", "mcp-in-terminal", codex),
        signed("Gemini CLI", "/mcp auth chatkeep", gemini),
        file("Cursor", "~/.cursor/mcp.json", pretty(&cursor)),
        file("VS Code", ".vscode/mcp.json", pretty(&code)),
    ]
}

/// Returns the clients where nobody signs in: they need a key.
fn clients_with_key(address: &str, language: Language) -> Vec<Client> {
    let header = format!("Authorization: Bearer {KEY}");
    let headers = json!({"Authorization": format!("Bearer {KEY}")});
    let file = |name, file: &str, text| Client::new(name, in_file(file, language), text);
    let terminal = |name, text| Client::new(name, language.text("mcp-in-terminal"), text);
    let arguments = json!(["-y", "mcp-remote", address, "--header", header]);
    let desktop = json!({"mcpServers": {"chatkeep": {"command": "npx", "args": arguments}}});
    let cursor = json!({"mcpServers": {"chatkeep": {"url": address, "headers": headers}}});
    let code =
        json!({"servers": {"chatkeep": {"type": "http", "url": address, "headers": headers}}});
    let claude_code = format!(
        "claude mcp add --scope user --transport http chatkeep {address} --header \"{header}\""
    );
    let gemini = format!(
        "gemini mcp add --scope user --transport http --header \"{header}\" chatkeep {address}"
    );
    let codex = format!(
        "export CHATKEEP_KEY={KEY}\n\
         codex mcp add chatkeep --url {address} --bearer-token-env-var CHATKEEP_KEY"
    );
    vec![
        file("Claude Desktop", "claude_desktop_config.json", pretty(&desktop)),
        terminal("Claude Code", claude_code),
        terminal("Codex", codex),
        terminal("Gemini CLI", gemini),
        file("Cursor", "~/.cursor/mcp.json", pretty(&cursor)),
        file("VS Code", ".vscode/mcp.json", pretty(&code)),
    ]
}

fn in_file(file: &str, language: Language) -> String {
    language.format("mcp-in-file", &[("file", Value::from(file))])
}

fn pretty(settings: &serde_json::Value) -> String {
    format!("{settings:#}")
}

impl Client {
    fn new(name: &'static str, place: String, text: String) -> Self {
        let id = format!("client-{}", name.to_lowercase().replace(' ', "-"));
        Self { id, name, place, text }
    }
}

impl ConsentCard {
    fn of(consent: &Consent, chats: &[Channel], dates: Dates) -> Self {
        let language = dates.language;
        let scopes = consent.scopes.iter().map(|scope| keys::meaning(*scope, language));
        Self {
            client: consent.client_name.clone(),
            scopes: scopes.collect(),
            chats: reach::names(consent.channels.as_deref(), chats, language),
            since: dates.date(dates.day(consent.created_at)),
            used: consent
                .last_used_at
                .map_or_else(|| language.text("never"), |at| dates.moment(at)),
            path: format!("{}/{}/end", Section::Mcp.path(), segment(&consent.id)),
        }
    }
}

/// Returns the visitor's consent of that id.
async fn one(console: &Console, visitor: &Visitor, id: &str) -> Result<Consent, PageError> {
    let consents = console.services.grants.consents(&visitor.caller()?.user).await?;
    consents.into_iter().find(|one| one.id == id).ok_or(PageError::NotInAccount)
}

pub(super) async fn ask_end(
    State(console): State<Console>,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let consent = one(&console, &visitor, &id).await?;
    Ok(question(&consent, visitor.language).page(&visitor))
}

fn question(consent: &Consent, language: Language) -> Question {
    let values = [("name", Value::from(&consent.client_name))];
    Question {
        title: language.format("consent-end-title", &values),
        text: language.text("consent-end-text"),
        button: language.text("consent-end"),
        back: Section::Mcp.path().to_owned(),
        values: Vec::new(),
    }
}

pub(super) async fn end(
    State(console): State<Console>,
    Path(id): Path<String>,
    Posted { visitor, form }: Posted<Confirmation>,
) -> Result<Response, PageError> {
    let consent = one(&console, &visitor, &id).await?;
    if !form.is_yes() {
        return Ok(question(&consent, visitor.language).page(&visitor));
    }
    console.services.grants.withdraw(&visitor.caller()?.user, &consent.id).await?;
    Ok(Done::Deleted.at(Section::Mcp.path()))
}
