//! `chatkeep export`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::zone_hint;
use chatkeep_i18n::Language;
use chatkeep_services::exports::{ExportService, PackRequest};
use chatkeep_store::Channel;
use chatkeep_transfer::out::note;
use chatkeep_transfer::pack::{ExportTarget, PackProgress};
use chatkeep_transfer::{Format, MediaSource, StoredMedia};
use chatkeep_view::when::When;
use chrono_tz::Tz;
use indicatif::HumanBytes;

use super::progress::ProgressReporter;
use super::{Context, on_signal};
use crate::app::PreflightError;

const BAR: &str = "{bar:30} {percent}% {msg}";
const SPINNER: &str = "{spinner} {msg}";

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// Id of the channel.
    #[arg(long, value_name = "ID")]
    channel: String,
    /// Format: jsonl (for `import`), csv (for spreadsheets) or html (for reading).
    #[arg(long, default_value = "jsonl")]
    format: String,
    /// Export only messages sent at or after this time: 2026-01-02T03:04:05Z, or a day such as
    /// 2026-01-02 for its first moment. A time without a zone is in --time-zone.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Export only messages sent before this time; same form as --from.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Target: a folder or a `.zip`, with media; or a file ending in the format's name. Standard
    /// output by default.
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Time zone in which days begin, by IANA name [default: the channel's, else the service's].
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Language of a page for reading: en, zh-Hant, ja or th.
    #[arg(long, value_name = "LANGUAGE", default_value = "en")]
    language: String,
}

/// Files that the media store does not have; everything else is exported.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} media files are missing in the media store and in the export, which lists their messages \
     in missing-files.txt; `chatkeep doctor` says more"
)]
pub(super) struct MissingFiles(u64);

impl MissingFiles {
    /// Exit code of the process.
    pub(super) const CODE: u8 = 3;
}

pub(super) async fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<()> {
    let wanted = args.wanted()?;
    let target = ExportTarget::of(args.out.as_deref(), wanted.format).map_err(PreflightError)?;
    let channel = ChannelId::from(args.channel.as_str());
    let store = context.store().await?;
    let media: Option<Arc<dyn MediaSource>> = if target.takes_media() {
        Some(Arc::new(StoredMedia(context.media_store(&store).await?)))
    } else {
        None
    };
    let known = context.channels(&store).any(&context.operator, &channel).await?;
    let done = match known {
        Some(known) => {
            let exports = context.exports(&store)?;
            write(context, &exports, &known, wanted, media, &target).await
        }
        None => Err(anyhow!("unknown channel {channel}")),
    };
    store.close().await;
    let PackProgress { messages, files, missing, bytes } = done?;
    note!("chatkeep: {messages} messages and {files} files, {}", HumanBytes(bytes));
    if missing > 0 {
        bail!(MissingFiles(missing));
    }
    Ok(())
}

async fn write(
    context: &Context,
    exports: &ExportService,
    channel: &Channel,
    wanted: Wanted,
    media: Option<Arc<dyn MediaSource>>,
    target: &ExportTarget,
) -> anyhow::Result<PackProgress> {
    let zone = channel.zone(context.config.time_zone);
    let request = wanted.of(zone, media, target)?;
    let whole = request.from.is_none() && request.to.is_none();
    let total = whole.then(|| u64::try_from(channel.message_count).unwrap_or_default());
    let mut progress = ProgressReporter::new(total, if whole { BAR } else { SPINNER });
    let watch = |done: PackProgress| {
        progress.at(done.messages, || {
            let of = total.map_or_else(String::new, |total| format!(" of about {total}"));
            format!("{}{of} messages, {}", done.messages, HumanBytes(done.bytes))
        });
    };
    let stopped = match target {
        ExportTarget::Stdout => "interrupted: what was written is not the whole export",
        _ => "interrupted: nothing was written",
    };
    let stop = on_signal()?;
    let packed = exports.pack(&context.operator, channel, request, watch);
    // Aborted in the middle, it removes the partial output.
    let done = stop.run_until_cancelled(packed).await;
    progress.end();
    done.context(stopped)?.map_err(anyhow::Error::from)
}

/// Export as requested, before the channel's time zone is known.
struct Wanted {
    format: Format,
    from: Option<When>,
    to: Option<When>,
    zone: Option<Tz>,
    language: Language,
}

impl ExportArgs {
    /// Returns the requested export.
    fn wanted(&self) -> Result<Wanted, PreflightError> {
        let time = |flag: &str, text: &Option<String>| {
            let wrong =
                |text: &String| PreflightError(format!("{flag}: {text:?}: {}", When::refusal()));
            text.as_ref().map(|text| When::parse(text).ok_or_else(|| wrong(text))).transpose()
        };
        let zone = |name: &String| {
            let hint = zone_hint(name);
            let why = format!("--time-zone: {name:?} is not the IANA name of a zone{hint}");
            name.parse().map_err(|_| PreflightError(why))
        };
        let format = Format::parse(&self.format).ok_or_else(|| {
            PreflightError(format!("unknown format {:?}; allowed: jsonl, csv, html", self.format))
        })?;
        Ok(Wanted {
            format,
            from: time("--from", &self.from)?,
            to: time("--to", &self.to)?,
            zone: self.time_zone.as_ref().map(zone).transpose()?,
            language: Language::from_tag(&self.language).ok_or_else(|| {
                let tags = Language::ALL.map(Language::tag).join(", ");
                PreflightError(format!("unknown language {:?}; known: {tags}", self.language))
            })?,
        })
    }
}

impl Wanted {
    /// Returns the export of a channel whose days begin in `zone` unless the arguments say
    /// otherwise.
    fn of(
        self,
        zone: Tz,
        media: Option<Arc<dyn MediaSource>>,
        target: &ExportTarget,
    ) -> Result<PackRequest<'_>, PreflightError> {
        let zone = self.zone.unwrap_or(zone);
        let time = |flag: &str, when: Option<When>| {
            let wrong = || PreflightError(format!("{flag} is out of range"));
            when.map(|when| when.within(zone).ok_or_else(wrong)).transpose()
        };
        let (from, to) = (time("--from", self.from)?, time("--to", self.to)?);
        let Self { format, language, .. } = self;
        Ok(PackRequest { format, from, to, zone, language, media, target })
    }
}
