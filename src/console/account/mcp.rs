//! Models that read for the visitor: the address, settings of the usual clients, and consents.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::grants::client_name;
use chatkeep_services::mcp_clients::{ClientAccess, ClientSetup, McpClient, SetupPlace};
use chatkeep_store::{Channel, Consent};
use chatkeep_view::segment;

use super::super::Console;
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, Question, SubmittedForm};
use super::super::frame::{Frame, rendered};
use super::super::visitor::Visitor;
use super::{Confirmation, Section, SectionLink, chats, dates, keys, reach};

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
    let access = if signs_in { ClientAccess::SignIn } else { ClientAccess::Key(KEY) };
    let page = McpPage {
        frame: visitor.frame(language.text("mcp-title")),
        sections: Section::Mcp.links(language),
        address: console.mcp.to_string(),
        signs_in,
        clients: clients(&console.mcp, access, language),
        consents: consents.iter().map(|one| ConsentCard::of(one, &chats, dates)).collect(),
    };
    rendered(&page)
}

/// Returns the clients that can be set up in this way.
fn clients(address: &str, access: ClientAccess<'_>, language: Language) -> Vec<Client> {
    let client = |client: McpClient| {
        // Whoever reads the page need not have this program.
        let ClientSetup { place, text } = client.setup(address, access, None)?;
        let name = client.name();
        let place = match place {
            SetupPlace::Page if client == McpClient::ChatGpt => language.text("mcp-in-chatgpt"),
            SetupPlace::Page => language.text("mcp-in-claude"),
            SetupPlace::Terminal { then: None } => language.text("mcp-in-terminal"),
            SetupPlace::Terminal { then: Some(command) } => {
                let values = [("client", Value::from(name)), ("command", Value::from(command))];
                language.format("mcp-in-terminal-sign-in", &values)
            }
            SetupPlace::File(file) => in_file(file, language),
        };
        Some(Client::new(name, place, text))
    };
    McpClient::ALL.into_iter().filter_map(client).collect()
}

fn in_file(file: &str, language: Language) -> String {
    language.format("mcp-in-file", &[("file", Value::from(file))])
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
            client: client_name(&consent.client_name, language),
            scopes: scopes.collect(),
            chats: reach::names(consent.channels.as_deref(), chats, language),
            since: dates.date(dates.day(consent.created_at)),
            used: consent.last_used_at.map_or_else(|| language.text("never"), |at| dates.zoned(at)),
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
    let name = client_name(&consent.client_name, language);
    let values = [("name", Value::from(&name))];
    Question {
        title: language.format("consent-end-title", &values),
        text: language.text("consent-end-text"),
        chat: None,
        button: language.text("consent-end"),
        back: Section::Mcp.path().to_owned(),
        values: Vec::new(),
    }
}

pub(super) async fn end(
    State(console): State<Console>,
    Path(id): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<Confirmation>,
) -> Result<Response, PageError> {
    let consent = one(&console, &visitor, &id).await?;
    if !form.is_yes() {
        return Ok(question(&consent, visitor.language).page(&visitor));
    }
    console.services.grants.withdraw(&visitor.caller()?.user, &consent.id).await?;
    Ok(Done::Deleted.at(Section::Mcp.path()))
}
