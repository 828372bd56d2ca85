//! `chatkeep import`.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use chatkeep_core::blobs::Blobs;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::store::Store;
use indicatif::HumanBytes;

use super::progress::Progress as Bar;
use super::{Context, on_signal, table};
use crate::app::Unfit;
use crate::transfer::import::{Form, Import, Progress, Summary, Zone};

const BAR: &str = "{bar:30} {percent}% {msg}";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A JSONL file, folder or `.zip` made by `export`, or a chat's text as the LINE app exports
    /// it.
    file: PathBuf,
    /// The channel that the messages belong to.
    #[arg(long, value_name = "ID")]
    channel: String,
    /// Makes this user a member of and a subscriber to the channel first, and the channel known.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// The bot that the channel belongs to, where it belongs to none yet [default: the only one
    /// that is configured].
    #[arg(long, value_name = "BOT")]
    bot: Option<String>,
    /// auto, jsonl or line.
    #[arg(long, default_value = "auto")]
    format: String,
    /// The zone of the times in a LINE text: an IANA name or an offset such as +08:00
    /// [default: the channel's].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    time_zone: Option<String>,
    /// Changes nothing and tells what would be done.
    #[arg(long)]
    dry_run: bool,
    /// The summary as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Some lines were not understood; everything else is imported.
#[derive(Debug, thiserror::Error)]
#[error("{0} lines were not understood")]
pub(super) struct NotUnderstood(u64);

impl NotUnderstood {
    /// The process' exit code.
    pub(super) const CODE: u8 = 3;
}

pub(super) async fn run(context: &Context, args: &Args) -> anyhow::Result<()> {
    let (form, zone) = (args.form()?, args.zone()?);
    let channel = ChannelId::from(args.channel.as_str());
    let store = context.frugal_store().await?;
    let summary = import(context, &store, args, &channel, form, zone).await;
    store.close().await;
    let summary = summary?;
    args.tell(&summary)?;
    if summary.full {
        bail!(
            "quota exceeded: {} messages are left; raise the plan and run it again",
            summary.left
        );
    }
    if summary.not_understood > 0 {
        bail!(NotUnderstood(summary.not_understood));
    }
    Ok(())
}

async fn import(
    context: &Context,
    store: &Store,
    args: &Args,
    channel: &ChannelId,
    form: Form,
    zone: Option<Zone>,
) -> anyhow::Result<Summary> {
    // Nothing is made known for a file that cannot be read.
    std::fs::metadata(&args.file)
        .with_context(|| format!("cannot read {}", args.file.display()))?;
    if args.dry_run {
        return read(context, store, args, channel, form, zone).await;
    }
    let bot = args.bot(context)?;
    open_channel(context, store, channel, args.user.as_deref()).await?;
    give_bot(context, store, channel, bot).await?;
    read(context, store, args, channel, form, zone).await
}

async fn read(
    context: &Context,
    store: &Store,
    args: &Args,
    channel: &ChannelId,
    form: Form,
    zone: Option<Zone>,
) -> anyhow::Result<Summary> {
    let mut bar = None;
    let watch = |progress: Progress| {
        let bar = bar.get_or_insert_with(|| Bar::new(Some(progress.total), BAR));
        bar.at(progress.read, || {
            let (read, total) = (HumanBytes(progress.read), HumanBytes(progress.total));
            format!("{read} of {total}, {} messages", progress.messages)
        });
    };
    let clock = &context.clock;
    let blobs = Blobs::open(&context.config.blobs, &context.config.s3)
        .context("cannot open the place of media files (CHATKEEP_BLOBS)")?;
    let zone = match zone {
        Some(zone) => zone,
        None => store
            .channel(channel)
            .await?
            .and_then(|channel| Zone::parse(&channel.time_zone))
            .unwrap_or(Zone::UTC),
    };
    let (blobs, trial, max_file) = (Some(&blobs), args.dry_run, context.config.media.max_bytes);
    let import = Import { store, trial, blobs, clock, channel, form, zone, max_file };
    let stop = on_signal()?;
    let summary = stop.run_until_cancelled(import.run(&args.file, watch)).await;
    if let Some(bar) = bar {
        bar.end();
    }
    let stopped = "interrupted: what is imported stays; run it again for the rest";
    summary.context(stopped)?.map_err(anyhow::Error::from)
}

/// Sees to it that somebody subscribes to the channel: else nothing of it is kept.
async fn open_channel(
    context: &Context,
    store: &Store,
    channel: &ChannelId,
    user: Option<&str>,
) -> anyhow::Result<()> {
    if let Some(user) = user {
        let user = UserId::from(user);
        if store.user(&user).await?.is_none() {
            bail!("there is no user {user}; `chatkeep user add {user}` makes one");
        }
        let known = store.channel(channel).await?.map(|channel| channel.kind);
        let kind = known
            .or_else(|| kind_of(channel))
            .ok_or_else(|| Unfit(format!("--channel: {channel} is no LINE id (C…, R… or U…)")))?;
        store.open_for_import(channel, kind, &user, context.clock.now()).await?;
    }
    let (subscribed, _) = store.backup_state(channel).await?;
    if !subscribed {
        bail!(
            "nobody subscribes to channel {channel}, so nothing of it is kept; `--user ID` makes \
             that user subscribe"
        );
    }
    Ok(())
}

/// Gives a channel that belongs to no bot to `bot`. Without one it stays nobody's, so that no bot
/// of several comes by what is imported.
async fn give_bot(
    context: &Context,
    store: &Store,
    channel: &ChannelId,
    bot: Option<&str>,
) -> anyhow::Result<()> {
    if store.channel(channel).await?.is_none_or(|channel| !channel.bot.is_empty()) {
        return Ok(());
    }
    if let Some(bot) = bot {
        store.assign_channel(channel, bot, context.clock.now()).await?;
    } else {
        eprintln!(
            "chatkeep: {channel} belongs to no bot, so that events about it are ignored; \
             `chatkeep channel assign` gives it one"
        );
    }
    Ok(())
}

/// What a LINE id is the id of.
fn kind_of(channel: &ChannelId) -> Option<ChannelKind> {
    match channel.as_str().chars().next()? {
        'C' => Some(ChannelKind::Group),
        'R' => Some(ChannelKind::Room),
        'U' => Some(ChannelKind::User),
        _ => None,
    }
}

impl Args {
    /// The bot of a channel that belongs to none.
    fn bot<'a>(&'a self, context: &'a Context) -> Result<Option<&'a str>, Unfit> {
        let bots = &context.config.line;
        let Some(bot) = self.bot.as_deref() else {
            let [only] = bots.as_slice() else { return Ok(None) };
            return Ok(Some(&only.name));
        };
        if bots.iter().all(|line| line.name != bot) {
            return Err(Unfit(format!("--bot: no bot named {bot:?} is configured")));
        }
        Ok(Some(bot))
    }

    fn form(&self) -> Result<Form, Unfit> {
        let unknown =
            || Unfit(format!("there is no format {:?}; allowed: auto, jsonl, line", self.format));
        Form::parse(&self.format).ok_or_else(unknown)
    }

    fn zone(&self) -> Result<Option<Zone>, Unfit> {
        let Some(text) = &self.time_zone else { return Ok(None) };
        let unknown = || {
            Unfit(format!(
                "--time-zone: {text:?} is neither an IANA name nor an offset like +08:00"
            ))
        };
        Zone::parse(text).ok_or_else(unknown).map(Some)
    }

    fn tell(&self, summary: &Summary) -> anyhow::Result<()> {
        if self.json {
            return table::json(summary);
        }
        let would = if self.dry_run { "would be " } else { "" };
        println!("{} messages {would}stored", summary.stored);
        println!("{} known already", summary.known);
        if summary.files > 0 {
            println!("{} media files stored", summary.files);
        }
        for (count, what) in [
            (summary.files_too_large, "media files left out: larger than media.max_bytes"),
            (summary.erased, "left out because they or their sender were erased"),
            (summary.happened, "lines tell what happened in the chat (joined, left, unsent …)"),
            (summary.not_understood, "lines not understood"),
        ] {
            if count > 0 {
                println!("{count} {what}");
            }
        }
        for unknown in &summary.lines {
            let why = unknown.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            println!("  line {}{why}: {}", unknown.line, unknown.text);
        }
        Ok(())
    }
}
