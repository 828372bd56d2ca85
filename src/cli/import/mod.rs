//! `chatkeep import`: imports messages.

mod history;
mod report;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::zone_hint;
use chatkeep_services::imports::{ImportRequest, ImportService, OpenChannelError};
use chatkeep_transfer::TransferError;
use chatkeep_transfer::import::{Form, ImportPlan, ImportProgress, Summary, Zone};
use chatkeep_transfer::line::DateOrder;
use chatkeep_transfer::out::note;
use encoding_rs::Encoding;
use indicatif::HumanBytes;

use super::context::wrong_media_store;
use super::progress::ProgressReporter as Bar;
use super::{Context, CreatingContext, on_signal};
use crate::app::PreflightError;

const BAR: &str = "{bar:30} {percent}% {msg}";

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
    /// they do not exist.
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
    /// Name that contains spaces, of a person in a text exported by LINE for desktop; may be
    /// repeated.
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
    List(history::ListArgs),
    /// Removes the messages that an import added, and nothing else.
    Undo(history::UndoArgs),
}

/// Parts of the file that could not be imported; everything else is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unimported {
    /// Unrecognised lines.
    #[error("{0} lines could not be parsed")]
    Lines(u64),
    /// Media files.
    #[error("{0} media files are missing or damaged; run the command again with a whole export")]
    Files(u64),
}

impl Unimported {
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
    user: Option<UserId>,
}

pub(super) async fn run(creator: &CreatingContext, args: &ImportArgs) -> anyhow::Result<()> {
    let context = &creator.0;
    match &args.command {
        Some(Command::List(list)) => return history::list(context, list).await,
        Some(Command::Undo(undo)) => return history::undo(context, undo).await,
        None => {}
    }
    let wanted = args.wanted()?;
    // Nothing is created for a file that cannot be read.
    std::fs::metadata(wanted.file)
        .with_context(|| format!("cannot read {}", wanted.file.display()))?;
    // A dry run creates nothing.
    let store = if args.dry_run { context.store().await? } else { creator.store().await? };
    let summary = import(creator, &context.imports(&store), args, wanted).await;
    store.close().await;
    let summary = summary?;
    report::print(&summary, args.dry_run, args.json)?;
    if summary.full {
        bail!(
            "quota exceeded: {} remain; raise the plan and run the command again",
            left_out(&summary)
        );
    }
    if summary.not_understood > 0 {
        bail!(Unimported::Lines(summary.not_understood));
    }
    let files = summary.files_missing + summary.files_damaged;
    if files > 0 {
        bail!(Unimported::Files(files));
    }
    Ok(())
}

/// Names what had no room.
fn left_out(summary: &Summary) -> String {
    let counts = [(summary.left, "messages"), (summary.files_left, "media files")];
    let named = counts.iter().filter(|(count, _)| *count > 0);
    let named: Vec<_> = named.map(|(count, what)| format!("{count} {what}")).collect();
    if named.is_empty() { "0 messages".to_owned() } else { named.join(" and ") }
}

async fn import(
    creator: &CreatingContext,
    imports: &ImportService,
    args: &ImportArgs,
    wanted: Wanted<'_>,
) -> anyhow::Result<Summary> {
    let context = &creator.0;
    let mut request = ImportRequest {
        file: wanted.file,
        channel: wanted.channel,
        form: wanted.form,
        zone: wanted.zone,
        date_order: wanted.date_order,
        encoding: wanted.encoding,
        names: &args.names,
        dry_run: args.dry_run,
        blobs: None,
        max_file: context.config.media.max_bytes,
    };
    let plan = imports.plan(&context.operator, &request).await;
    let plan = plan.map_err(|error| usage_error(error, context, &request.channel))?;
    // Texts can be imported while the media store is away.
    if plan.may_bring_files()
        && let Some(blobs) = creator.blobs(args.dry_run)?
    {
        let checked = imports.check_media_store(&context.operator, &blobs, args.dry_run);
        checked.await.map_err(wrong_media_store)?;
        request.blobs = Some(blobs);
    }
    if !args.dry_run {
        let bot = args.bot(context)?;
        open(context, imports, &request.channel, (wanted.user.as_ref(), bot)).await?;
    }
    read(context, imports, &request, plan).await
}

/// Opens the channel: without a subscriber nothing of it is stored.
async fn open(
    context: &Context,
    imports: &ImportService,
    channel: &ChannelId,
    (user, bot): (Option<&UserId>, Option<&str>),
) -> anyhow::Result<()> {
    let opened = imports.open(&context.operator, channel, user, bot).await;
    let opened = opened.map_err(|error| match error {
        error @ OpenChannelError::NoKind(_) => {
            anyhow::Error::from(PreflightError(format!("--channel: {error}")))
        }
        error @ OpenChannelError::NotSubscribed(_) => {
            anyhow!("{error}; `--user ID` subscribes that user")
        }
        OpenChannelError::Store(error) => error.into(),
    })?;
    if let Some(user) = user.filter(|_| opened.user_added) {
        note!("chatkeep: added user {user} on plan free");
    }
    if !opened.has_bot {
        note!(
            "chatkeep: {channel} belongs to no bot, so that events about it are ignored; \
             `chatkeep channel assign` gives it one"
        );
    }
    Ok(())
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
        error @ (TransferError::DateOrder(_)
        | TransferError::OtherZone { .. }
        | TransferError::OtherChannel { .. }) => PreflightError(error.to_string()).into(),
        error => error.into(),
    }
}

async fn read(
    context: &Context,
    imports: &ImportService,
    request: &ImportRequest<'_>,
    plan: ImportPlan,
) -> anyhow::Result<Summary> {
    let mut bar = None;
    let watch = |progress: ImportProgress| {
        let bar = bar.get_or_insert_with(|| Bar::new(Some(progress.total), BAR));
        bar.at(progress.read, || {
            let (read, total) = (HumanBytes(progress.read), HumanBytes(progress.total));
            format!("{read} of {total}, {} messages", progress.messages)
        });
    };
    let stop = on_signal()?;
    let imported = imports.run(&context.operator, request, plan, watch);
    let summary = stop.run_until_cancelled(imported).await;
    if let Some(bar) = bar {
        bar.end();
    }
    let stopped = "interrupted: what is imported stays; run it again for the rest, or see \
                   `chatkeep import list` for its number and undo it";
    summary.context(stopped)?.map_err(anyhow::Error::from)
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
            user: self.user()?,
        })
    }

    fn user(&self) -> Result<Option<UserId>, PreflightError> {
        if self.user.as_deref().is_some_and(|user| user.trim().is_empty()) {
            return Err(PreflightError("--user: the user id must not be empty".to_owned()));
        }
        Ok(self.user.as_deref().map(UserId::from))
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
}
