//! `chatkeep channel …`: the channels there are, and which bot each of them belongs to.

use anyhow::bail;
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::{Channel, ChannelStatus};

use super::{Context, table};
use crate::app::Unfit;
use crate::out::note;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Lists channels: the groups, rooms and people that the bot has heard of.
    List {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Shows how many channels belong to each bot.
    Bots {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Gives a channel, or all channels of a bot, to another bot: for a bot that is gone without
    /// leaving, or that has another name now.
    Assign {
        /// The channel, which the bot must be in.
        #[arg(long, value_name = "ID", required_unless_present = "from")]
        channel: Option<String>,
        /// The bot whose channels are all given away.
        #[arg(long, value_name = "BOT", conflicts_with = "channel")]
        from: Option<String>,
        /// The bot that gets them; it must be configured.
        #[arg(long, value_name = "BOT")]
        bot: String,
    },
}

/// Channels read at once.
const PAGE: u32 = 500;

pub(super) async fn run(context: &Context, command: Command) -> anyhow::Result<()> {
    match command {
        Command::List { json } => list(context, json).await,
        Command::Bots { json } => bots(context, json).await,
        Command::Assign { channel: Some(channel), bot, .. } => {
            check(context, &bot)?;
            assign(context, &channel.into(), &bot).await
        }
        Command::Assign { from, bot, .. } => {
            check(context, &bot)?;
            rename(context, &from.unwrap_or_default(), &bot).await
        }
    }
}

async fn list(context: &Context, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let page = store.channels(after.as_ref(), PAGE).await?;
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
        note!("no channel yet: invite the bot to a group, or say something to it");
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

/// A bot that is not configured gets no channels: nobody would answer in them.
fn check(context: &Context, bot: &str) -> Result<(), Unfit> {
    let names: Vec<_> = context.config.line.iter().map(|line| line.name.as_str()).collect();
    if names.contains(&bot) {
        return Ok(());
    }
    Err(Unfit(format!("no bot named {bot:?} is configured; there are: {}", names.join(", "))))
}

async fn bots(context: &Context, json: bool) -> anyhow::Result<()> {
    let store = context.store().await?;
    let known = store.bots_of_channels().await?;
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
    let known = store.assign_channel(channel, bot, context.clock.now()).await?;
    store.close().await;
    if !known {
        bail!("there is no channel {channel}");
    }
    note!("{channel} belongs to the bot {bot}");
    Ok(())
}

async fn rename(context: &Context, from: &str, bot: &str) -> anyhow::Result<()> {
    if from == bot {
        bail!(Unfit(format!("--from and --bot are both {bot:?}")));
    }
    let store = context.store().await?;
    let given = store.rename_bot(from, bot, context.clock.now()).await?;
    store.close().await;
    note!("{given} channels belong to the bot {bot}");
    Ok(())
}
