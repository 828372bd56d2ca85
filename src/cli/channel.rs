//! `chatkeep channel …`: list of channels, and their assignment to bots.

use anyhow::bail;
use chatkeep_core::id::ChannelId;
use chatkeep_store::{Channel, ChannelStatus};
use chatkeep_transfer::out::note;

use super::{Context, table};
use crate::app::PreflightError;

#[derive(Debug, clap::Subcommand)]
pub(super) enum ChannelCommand {
    /// Lists channels: groups, rooms and people that sent the bot an event.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Shows the number of channels of each bot.
    Bots {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Assigns a channel, or all channels of a bot, to another bot: for use after a bot was removed
    /// without leaving its chats, or was renamed.
    Assign {
        /// Channel to assign; the bot must be in it.
        #[arg(long, value_name = "ID", required_unless_present = "from")]
        channel: Option<String>,
        /// Bot whose channels are all reassigned.
        #[arg(long, value_name = "BOT", conflicts_with = "channel")]
        from: Option<String>,
        /// Bot that gets them; it must be configured.
        #[arg(long, value_name = "BOT")]
        bot: String,
    },
}

/// Channels read at once.
const PAGE: u32 = 500;

pub(super) async fn run(context: &Context, command: ChannelCommand) -> anyhow::Result<()> {
    match command {
        ChannelCommand::List { json } => list(context, json).await,
        ChannelCommand::Bots { json } => bots(context, json).await,
        ChannelCommand::Assign { channel: Some(channel), bot, .. } => {
            check(context, &bot)?;
            assign(context, &channel.into(), &bot).await
        }
        ChannelCommand::Assign { from, bot, .. } => {
            check(context, &bot)?;
            rename(context, &from.unwrap_or_default(), &bot).await
        }
    }
}

async fn list(context: &Context, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let channels = context.channels(&store);
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let page = channels.page_of_all(&context.operator, after.as_ref(), PAGE).await?;
        for (channel, subscribers) in &page {
            if json {
                table::json(&serde_json::json!({
                    "channelId": channel.id, "name": channel.name, "type": channel.kind,
                    "status": channel.status, "bot": Some(&channel.bot).filter(|bot| !bot.is_empty()),
                    "memberCount": channel.member_count, "subscribers": subscribers,
                    "messageCount": channel.message_count, "bytes": channel.bytes,
                    "createdAt": channel.created_at,
                }))?;
            } else {
                rows.push(row(channel, *subscribers));
            }
        }
        match page.last() {
            Some((last, _)) => after = Some(last.id.clone()),
            None => break,
        }
    }
    store.close().await;
    if json {
        return Ok(());
    }
    let headings =
        ["CHANNEL", "NAME", "TYPE", "STATUS", "BOT", "MEMBERS", "SUBSCRIBERS", "MESSAGES"];
    table::print(&headings, &rows)?;
    if rows.is_empty() {
        note!("no channels yet: invite the bot to a group, or send it a message");
    }
    Ok(())
}

fn row(channel: &Channel, subscribers: i64) -> Vec<String> {
    let status = match channel.status {
        ChannelStatus::Active => "active",
        ChannelStatus::Disabled => "disabled",
    };
    vec![
        channel.id.to_string(),
        channel.name.clone().unwrap_or_default(),
        channel.kind.name().to_owned(),
        status.to_owned(),
        channel.bot.clone(),
        channel.member_count.to_string(),
        subscribers.to_string(),
        channel.message_count.to_string(),
    ]
}

/// Refuses a bot that is not configured: nobody would reply in its channels.
fn check(context: &Context, bot: &str) -> Result<(), PreflightError> {
    let names: Vec<_> = context.config.line.iter().map(|line| line.name.as_str()).collect();
    if names.contains(&bot) {
        return Ok(());
    }
    Err(PreflightError(format!(
        "no bot named {bot:?} is configured; there are: {}",
        names.join(", ")
    )))
}

async fn bots(context: &Context, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let known = context.channels(&store).bots(&context.operator).await?;
    store.close().await;
    let configured = |bot: &str| context.config.line.iter().any(|line| line.name == bot);
    if json {
        return known.iter().try_for_each(|row| {
            table::json(&serde_json::json!({
                "bot": row.bot, "channels": row.channels, "configured": configured(&row.bot),
            }))
        });
    }
    let rows: Vec<_> = known
        .iter()
        .map(|row| {
            let configured = if configured(&row.bot) { "yes" } else { "no" };
            let bot = if row.bot.is_empty() { "(none)" } else { row.bot.as_str() };
            vec![bot.to_owned(), row.channels.to_string(), configured.to_owned()]
        })
        .collect();
    table::print(&["BOT", "CHANNELS", "CONFIGURED"], &rows)
}

async fn assign(context: &Context, channel: &ChannelId, bot: &str) -> anyhow::Result<()> {
    let store = context.store().await?;
    let known = context.channels(&store).assign(&context.operator, channel, bot).await?;
    store.close().await;
    if !known {
        bail!("unknown channel {channel}");
    }
    note!("{channel} belongs to the bot {bot}");
    Ok(())
}

async fn rename(context: &Context, from: &str, bot: &str) -> anyhow::Result<()> {
    if from == bot {
        bail!(PreflightError(format!("--from and --bot are both {bot:?}")));
    }
    let store = context.store().await?;
    let given = context.channels(&store).reassign(&context.operator, from, bot).await?;
    store.close().await;
    note!("{given} channels belong to the bot {bot}");
    Ok(())
}
