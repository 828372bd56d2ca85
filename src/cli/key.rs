//! `chatkeep key …`.

use anyhow::{anyhow, bail};
use chatkeep_core::id::{ChannelId, KeyId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_services::keys::{IssueKeyError, KEY_NAME, OperatorKey, new_pseudonyms};
use chatkeep_store::KEYS_OF_USER;
use chatkeep_transfer::out::{note, say};
use chatkeep_view::when::When;
use chrono_tz::Tz;

use super::{Context, table};
use crate::app::PreflightError;

#[derive(Debug, clap::Subcommand)]
pub(super) enum KeyCommand {
    /// Creates a key and prints it, once; a user may have 50 active keys.
    Create(CreateKeyArgs),
    /// Lists a user's keys.
    List {
        /// User who owns the keys.
        #[arg(long)]
        user: String,
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Deletes a key; it is revoked at once, and its webhooks are disabled.
    Revoke {
        /// Id of the key (`key_…`), as shown by `list`.
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct CreateKeyArgs {
    /// User who owns the key.
    #[arg(long)]
    user: String,
    /// Display name of the key.
    #[arg(long, default_value = "command line")]
    name: String,
    /// Scope of the key; may be repeated [default: all].
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Channel that the key may read; may be repeated [default: all].
    #[arg(long = "channel", value_name = "CHANNEL")]
    channels: Vec<String>,
    /// Earliest time or day of messages that it can read [default: no limit].
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// Time or day at which it expires [default: never].
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Show stable pseudonyms in place of people; the scopes are then those that only read.
    #[arg(long)]
    pseudonyms: bool,
}

pub(super) async fn run(context: &Context, command: KeyCommand) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(key) => create(context, &key).await,
        KeyCommand::List { user, json } => list(context, &user.into(), json).await,
        KeyCommand::Revoke { id } => revoke(context, &id.into()).await,
    }
}

fn scopes_of(names: &[String]) -> Result<Vec<Scope>, PreflightError> {
    if names.is_empty() {
        return Ok(Scope::ALL.to_vec());
    }
    let unknown = |name: &String| {
        let allowed = Scope::ALL.map(Scope::name).join(", ");
        PreflightError(format!("unknown scope {name:?}; allowed: {allowed}"))
    };
    names.iter().map(|name| Scope::parse(name).ok_or_else(|| unknown(name))).collect()
}

/// Returns a time in the service's zone, as everywhere without a channel.
fn time(flag: &str, given: Option<&str>, zone: Tz) -> Result<Option<Timestamp>, PreflightError> {
    let wrong = |text: &str| PreflightError(format!("{flag} {text:?}: {}", When::refusal()));
    let read = |text| When::parse(text).and_then(|when| when.within(zone));
    given.map(|text| read(text).ok_or_else(|| wrong(text))).transpose()
}

async fn create(context: &Context, wanted: &CreateKeyArgs) -> anyhow::Result<()> {
    let mut scopes = scopes_of(&wanted.scopes)?;
    if wanted.pseudonyms && wanted.scopes.is_empty() {
        scopes.retain(|scope| scope.allows_pseudonyms());
    }
    let channels: Vec<ChannelId> =
        wanted.channels.iter().map(|id| ChannelId::from(id.as_str())).collect();
    let zone = context.config.time_zone;
    let key = OperatorKey {
        user: UserId::from(wanted.user.as_str()),
        name: wanted.name.clone(),
        scopes,
        channels: Some(channels).filter(|channels| !channels.is_empty()),
        not_before: time("--not-before", wanted.not_before.as_deref(), zone)?,
        expires_at: time("--expires", wanted.expires.as_deref(), zone)?,
        pseudonyms: wanted.pseudonyms.then(new_pseudonyms),
    };
    let store = context.store().await?;
    let issued = context.keys(&store).issue(&context.operator, key).await;
    store.close().await;
    let issued = issued.map_err(|error| refusal(error, &wanted.user))?;
    let (id, secret) = (issued.key.id, issued.secret);
    note!("{id}: store the key safely, it is not shown again");
    say!("{secret}")?;
    Ok(())
}

/// Returns the error of a key that cannot be created, in terms of the command.
fn refusal(error: IssueKeyError, user: &str) -> anyhow::Error {
    match error {
        IssueKeyError::Name => {
            PreflightError(format!("--name must have 1 to {KEY_NAME} characters")).into()
        }
        IssueKeyError::ScopeWithPseudonyms(scope) => {
            let why = format!("--pseudonyms cannot go with --scope {}", scope.name());
            PreflightError(why).into()
        }
        IssueKeyError::Expired => {
            PreflightError("--expires must be in the future".to_owned()).into()
        }
        IssueKeyError::UnknownUser(user) => {
            anyhow!("unknown user {user}; `chatkeep user add {user}` creates it")
        }
        IssueKeyError::UnknownChannel(channel) => {
            PreflightError(format!("--channel: unknown channel {channel}")).into()
        }
        IssueKeyError::TooMany => anyhow!(
            "{user} has {KEYS_OF_USER} active keys, the maximum; `chatkeep key revoke` deletes one"
        ),
        IssueKeyError::Store(error) => error.into(),
    }
}

async fn list(context: &Context, user: &UserId, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let keys = context.keys(&store).all_of(&context.operator, user).await?;
    store.close().await;
    let mut rows = Vec::new();
    for key in keys {
        let scopes: Vec<_> = key.scopes.iter().copied().map(Scope::name).collect();
        let time = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        if json {
            table::json(&serde_json::json!({
                "keyId": key.id, "name": key.name, "mask": key.mask, "scopes": scopes,
                "channelIds": key.channels, "notBefore": key.not_before,
                "createdAt": key.created_at, "expiresAt": key.expires_at,
                "lastUsedAt": key.last_used_at, "pseudonyms": key.pseudonyms.is_some(),
            }))?;
        } else {
            rows.push(vec![
                key.id.to_string(),
                key.name,
                format!("…{}", key.mask),
                key.created_at.to_string(),
                time(key.expires_at),
                time(key.last_used_at),
                scopes.join(","),
            ]);
        }
    }
    if !json {
        let headings = ["KEY", "NAME", "ENDS IN", "CREATED", "EXPIRES", "LAST USED", "SCOPES"];
        table::print(&headings, &rows)?;
    }
    Ok(())
}

async fn revoke(context: &Context, id: &KeyId) -> anyhow::Result<()> {
    let store = context.store().await?;
    let known = context.keys(&store).revoke(&context.operator, id).await?;
    store.close().await;
    if !known {
        bail!("unknown key {id}");
    }
    note!("{id} was deleted");
    Ok(())
}
