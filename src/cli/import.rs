//! `chatkeep import`: imports messages.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::zone_hint;
use chatkeep_store::Store;
use encoding_rs::Encoding;
use indicatif::HumanBytes;

use super::progress::ProgressReporter as Bar;
use super::{Context, CreatingContext, imports, on_signal, table};
use crate::app::PreflightError;
use crate::out::note;
use crate::transfer::TransferError;
use crate::transfer::import::{Form, Import, ImportPlan, ImportProgress, Summary, Zone};
use crate::transfer::line::DateOrder;

const BAR: &str = "{bar:30} {percent}% {msg}";
/// Maximum number of people listed at the end.
const PEOPLE: usize = 30;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct ImportArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// File to import: a JSONL file, folder or `.zip` made by `export`, or a chat's text as
    /// exported by the LINE app.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// Channel that the messages belong to.
    #[arg(long, value_name = "ID", required = true)]
    channel: Option<String>,
    /// User to make a member and a subscriber of the channel first; user and channel are created if
    /// they are not known.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Bot of a channel that belongs to none yet [default: the only one that is configured].
    #[arg(long, value_name = "BOT")]
    bot: Option<String>,
    /// Format of the file: auto, jsonl or line.
    #[arg(long, default_value = "auto")]
    format: String,
    /// Time zone of a LINE text, which is that of the phone or computer that exported it: an IANA
    /// name or an offset such as +08:00 [default: the channel's, where it has one].
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    time_zone: Option<String>,
    /// Order of day and month in the dates of a LINE text, dmy or mdy, where it is ambiguous.
    #[arg(long, value_name = "ORDER")]
    date_order: Option<String>,
    /// Encoding of a LINE text, such as shift-jis, windows-874 or Big5 [default: detected].
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
    /// Person's name of several words in a LINE text from a computer; may be repeated.
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Report the result without changing anything.
    #[arg(long)]
    dry_run: bool,
    /// Print the summary as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lists imports, newest first.
    List(imports::ListArgs),
    /// Removes the messages that an import added, and nothing else.
    Undo(imports::UndoArgs),
}

/// Unrecognised lines in the file; everything else is imported.
#[derive(Debug, thiserror::Error)]
#[error("{0} lines could not be parsed")]
pub(super) struct UnrecognisedLines(u64);

impl UnrecognisedLines {
    /// Exit code of the process.
    pub(super) const CODE: u8 = 3;
}

/// Parsed arguments of an import.
struct Wanted<'a> {
    file: &'a Path,
    channel: ChannelId,
    form: Form,
    zone: Option<Zone>,
    date_order: Option<DateOrder>,
    encoding: Option<&'static Encoding>,
}

pub(super) async fn run(creator: &CreatingContext, args: &ImportArgs) -> anyhow::Result<()> {
    let context = &creator.0;
    match &args.command {
        Some(Command::List(list)) => return imports::list(context, list).await,
        Some(Command::Undo(undo)) => return imports::undo(context, undo).await,
        None => {}
    }
    let wanted = args.wanted()?;
    // Nothing is created for a file that cannot be read.
    std::fs::metadata(wanted.file)
        .with_context(|| format!("cannot read {}", wanted.file.display()))?;
    let store = creator.store().await?;
    let summary = import(creator, &store, args, wanted).await;
    store.close().await;
    let summary = summary?;
    args.tell(&summary)?;
    if summary.full {
        bail!(
            "quota exceeded: {} messages remain; raise the plan and run the command again",
            summary.left
        );
    }
    if summary.not_understood > 0 {
        bail!(UnrecognisedLines(summary.not_understood));
    }
    Ok(())
}

async fn import(
    creator: &CreatingContext,
    store: &Store,
    args: &ImportArgs,
    wanted: Wanted<'_>,
) -> anyhow::Result<Summary> {
    let Wanted { file, channel, form, zone, date_order, encoding } = wanted;
    let context = &creator.0;
    let known = store.channels().channel(&channel).await?;
    let own = || known.and_then(|channel| Zone::parse(&channel.time_zone?));
    let blobs = creator.blobs()?;
    let import = Import {
        store,
        trial: args.dry_run,
        blobs: Some(&blobs),
        clock: &context.clock,
        channel: &channel,
        form,
        zone: zone.or_else(own),
        date_order,
        encoding,
        names: &args.names,
        max_file: context.config.media.max_bytes,
    };
    let plan = import.plan(file).await.map_err(|error| usage_error(error, context, &channel))?;
    if !args.dry_run {
        let bot = args.bot(context)?;
        open_channel(context, store, &channel, args.user.as_deref()).await?;
        give_bot(context, store, &channel, bot).await?;
    }
    read(&import, plan).await
}

/// Turns an error about missing information into a usage error that names the argument.
fn usage_error(error: TransferError, context: &Context, channel: &ChannelId) -> anyhow::Error {
    match error {
        TransferError::ZoneNeeded => PreflightError(format!(
            "--time-zone is required: a LINE text does not contain its time zone, and channel \
             {channel} has none set (the service's time_zone is {})",
            context.config.time_zone
        ))
        .into(),
        error @ (TransferError::DateOrder(_) | TransferError::OtherZone { .. }) => {
            PreflightError(error.to_string()).into()
        }
        error => error.into(),
    }
}

async fn read(import: &Import<'_>, plan: ImportPlan) -> anyhow::Result<Summary> {
    let mut bar = None;
    let mut watch = |progress: ImportProgress| {
        let bar = bar.get_or_insert_with(|| Bar::new(Some(progress.total), BAR));
        bar.at(progress.read, || {
            let (read, total) = (HumanBytes(progress.read), HumanBytes(progress.total));
            format!("{read} of {total}, {} messages", progress.messages)
        });
    };
    let stop = on_signal()?;
    let summary = stop.run_until_cancelled(import.run(plan, &mut watch)).await;
    if let Some(bar) = bar {
        bar.end();
    }
    let stopped = "interrupted: what is imported stays; run it again for the rest, or see \
                   `chatkeep import list` for its number and undo it";
    summary.context(stopped)?.map_err(anyhow::Error::from)
}

/// Ensures that the channel has a subscriber: else nothing of it is stored.
async fn open_channel(
    context: &Context,
    store: &Store,
    channel: &ChannelId,
    user: Option<&str>,
) -> anyhow::Result<()> {
    if let Some(user) = user {
        if user.trim().is_empty() {
            bail!(PreflightError("--user: the user id must not be empty".to_owned()));
        }
        let user = UserId::from(user);
        let known = store.channels().channel(channel).await?.map(|channel| channel.kind);
        let kind = known.or_else(|| kind_of(channel)).ok_or_else(|| {
            PreflightError(format!("--channel: {channel} is not a LINE ID (C…, R… or U…)"))
        })?;
        if store.accounts().user(&user).await?.is_none() {
            store.accounts().add_user(&user, None, context.clock.now()).await?;
            note!("chatkeep: added user {user} on plan free");
        }
        store.imports().open_for_import(channel, kind, &user, context.clock.now()).await?;
    }
    let (subscribed, _) = store.accounts().backup_state(channel).await?;
    if !subscribed {
        bail!(
            "the channel {channel} has no backup subscription, so its messages are not stored; \
             `--user ID` subscribes that user"
        );
    }
    Ok(())
}

/// Assigns a channel that belongs to no bot to `bot`. Without one it stays unassigned, so that no
/// bot of several gets access to the imported messages.
async fn give_bot(
    context: &Context,
    store: &Store,
    channel: &ChannelId,
    bot: Option<&str>,
) -> anyhow::Result<()> {
    if store.channels().channel(channel).await?.is_none_or(|channel| !channel.bot.is_empty()) {
        return Ok(());
    }
    if let Some(bot) = bot {
        store.channels().assign_channel(channel, bot, context.clock.now()).await?;
    } else {
        note!(
            "chatkeep: {channel} belongs to no bot, so that events about it are ignored; \
             `chatkeep channel assign` gives it one"
        );
    }
    Ok(())
}

/// Returns the kind of channel that a LINE id names.
fn kind_of(channel: &ChannelId) -> Option<ChannelKind> {
    match channel.as_str().chars().next()? {
        'C' => Some(ChannelKind::Group),
        'R' => Some(ChannelKind::Room),
        'U' => Some(ChannelKind::User),
        _ => None,
    }
}

impl ImportArgs {
    /// Returns the bot for a channel that belongs to none.
    fn bot<'a>(&'a self, context: &'a Context) -> Result<Option<&'a str>, PreflightError> {
        let bots = &context.config.line;
        let Some(bot) = self.bot.as_deref() else {
            let [only] = bots.as_slice() else { return Ok(None) };
            return Ok(Some(&only.name));
        };
        if bots.iter().all(|line| line.name != bot) {
            return Err(PreflightError(format!("--bot: no bot named {bot:?} is configured")));
        }
        Ok(Some(bot))
    }

    fn wanted(&self) -> Result<Wanted<'_>, PreflightError> {
        let missing = || PreflightError("a file and --channel are required".to_owned());
        let (file, channel) =
            self.file.as_deref().zip(self.channel.as_deref()).ok_or_else(missing)?;
        let form = Form::parse(&self.format).ok_or_else(|| {
            PreflightError(format!("unknown format {:?}; allowed: auto, jsonl, line", self.format))
        })?;
        let date_order = self.date_order.as_deref().map(|order| {
            let unknown =
                || PreflightError(format!("--date-order: {order:?} is neither dmy nor mdy"));
            DateOrder::parse(order).ok_or_else(unknown)
        });
        let encoding = self.encoding.as_deref().map(|name| {
            let unknown = || PreflightError(format!("--encoding: unknown encoding {name:?}"));
            Encoding::for_label(name.as_bytes()).ok_or_else(unknown)
        });
        Ok(Wanted {
            file,
            channel: channel.into(),
            form,
            zone: self.zone()?,
            date_order: date_order.transpose()?,
            encoding: encoding.transpose()?,
        })
    }

    fn zone(&self) -> Result<Option<Zone>, PreflightError> {
        let Some(text) = &self.time_zone else { return Ok(None) };
        let unknown = || {
            let hint = zone_hint(text);
            PreflightError(format!(
                "--time-zone: {text:?} is neither an IANA name nor an offset like +08:00{hint}"
            ))
        };
        Zone::parse(text).ok_or_else(unknown).map(Some)
    }

    /// Prints the summary, for people on standard error, for programs on standard output.
    fn tell(&self, summary: &Summary) -> anyhow::Result<()> {
        if self.json {
            return table::json(summary);
        }
        let would = if self.dry_run { "would be " } else { "" };
        note!("{} messages {would}stored", summary.stored);
        note!("{} already stored", summary.known);
        if summary.files > 0 {
            note!("{} media files stored", summary.files);
        }
        for (count, what) in [
            (summary.files_too_large, "media files skipped: larger than media.max_bytes"),
            (summary.erased, "skipped because they or their sender were erased"),
            (summary.happened, "lines about events in the chat (joined, left, unsent …)"),
            (summary.not_understood, "lines that could not be parsed"),
        ] {
            if count > 0 {
                note!("{count} {what}");
            }
        }
        for unknown in &summary.lines {
            let why = unknown.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            note!("  line {}{why}: {}", unknown.line, unknown.text);
        }
        print_overview(summary);
        if let Some(import) = summary.import {
            note!("import {import}; `chatkeep import undo {import}` removes what it added");
        }
        Ok(())
    }
}

/// Prints a short overview of the file, so that a wrong zone or a cut name is noticed.
fn print_overview(summary: &Summary) {
    if let Some(chat) = &summary.chat_name {
        note!("chat: {chat}");
    }
    if let Some(encoding) = &summary.encoding {
        note!("encoding: {encoding}");
    }
    if let Some(zone) = &summary.time_zone {
        note!("time zone: {zone}");
    }
    if let (Some(from), Some(to)) = (summary.from, summary.to) {
        note!("sent from {from} to {to}");
    }
    let people = summary.by_messages();
    if people.is_empty() {
        return;
    }
    let shown = people.iter().take(PEOPLE).map(|(id, person)| {
        let name = person.name.as_deref().unwrap_or(id.as_str());
        format!("{name} ({})", person.messages)
    });
    let more = if people.len() > PEOPLE { ", …" } else { "" };
    note!("{} people: {}{more}", people.len(), shown.collect::<Vec<_>>().join(", "));
}
