//! `chatkeep snapshot …`: making, listing, checking and restoring snapshots.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::config::{BlobsKind, Config, Database, has_password};
use chatkeep_services::snapshots::{
    AgeIdentities, DamagedFiles, ErasedIn, RestoreDestination, RestoreReport, RestoreRequest,
    SnapshotReason, SnapshotRecord, SnapshotRetention, SnapshotService, SnapshotSource,
};
use chatkeep_transfer::out::{note, say};
use serde_json::json;

use super::{Context, on_signal, table};

/// Time for which a command that needs no database waits for it.
const COMPARISON: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(super) struct SnapshotArgs {
    /// Folder or `s3://bucket/prefix` of the snapshots [default: the setting snapshot.target].
    #[arg(long, global = true, value_name = "PLACE")]
    target: Option<String>,
    #[command(subcommand)]
    command: SnapshotCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SnapshotCommand {
    /// Makes a snapshot, with or without the service running.
    Create {
        /// Print its manifest as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Lists snapshots, oldest first.
    List {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// Reads a snapshot whole and checks that it can be restored.
    Verify {
        /// Id of the snapshot, as shown by `list`, or `latest`.
        id: String,
        /// File with an age identity (private key), for an encrypted snapshot; may be repeated.
        #[arg(long, value_name = "FILE")]
        identity: Vec<PathBuf>,
    },
    /// Restores a snapshot into a new folder, erases what was erased since, and checks the result.
    Restore(RestoreArgs),
    /// Removes the snapshots that the settings do not keep, and files that no snapshot refers to
    /// any more.
    Prune,
    /// Makes this database the owner of the snapshot target, even if that has snapshots of another
    /// one, or is another target than the database has used at that address. The ledger of erasures
    /// there becomes that of this database.
    Adopt,
}

#[derive(Debug, clap::Args)]
struct RestoreArgs {
    /// Id of the snapshot, as shown by `list`, or `latest`.
    id: String,
    /// New data folder. Without it, files and erasures are restored beside the PostgreSQL database
    /// of the settings.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// File with an age identity (private key), for an encrypted snapshot; may be repeated.
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Data folder or `postgres://…` with the erasures made since, such as that of the old
    /// deployment; may be repeated. Those recorded at the snapshot target are always applied.
    #[arg(long, value_name = "PLACE")]
    erased_in: Vec<String>,
    /// Leave out files of messages that are damaged or missing in the snapshots, list them, and end
    /// with exit code 3; without it, the first one ends the restore.
    #[arg(long)]
    skip_damaged_files: bool,
}

/// Files that are damaged or missing in the snapshots; everything else is restored.
#[derive(Debug, thiserror::Error)]
#[error("{0} files of messages were left out: they are damaged or missing in the snapshots")]
pub(super) struct FilesLeftOut(u64);

impl FilesLeftOut {
    /// Exit code of the process.
    pub(super) const CODE: u8 = 3;
}

pub(super) async fn run(context: &Context, args: SnapshotArgs) -> anyhow::Result<()> {
    let target = match args.target {
        Some(place) => Some(parsed::<BlobsKind>("--target", place)?),
        None => None,
    };
    let done = command(context, target.as_ref(), args.command);
    // Aborted in the middle, it removes its copies of what is stored.
    let done = on_signal()?.run_until_cancelled(Box::pin(done)).await;
    done.context("interrupted before it was done")?
}

async fn command(
    context: &Context,
    target: Option<&BlobsKind>,
    command: SnapshotCommand,
) -> anyhow::Result<()> {
    match command {
        SnapshotCommand::Create { json } => Box::pin(create(context, target, json)).await,
        SnapshotCommand::List { json } => {
            list(&compared(context, target).await?.list().await?, json)
        }
        SnapshotCommand::Verify { id, identity } => {
            let identities = AgeIdentities::read(&identity)?;
            verify(&compared(context, target).await?, &id, &identities).await
        }
        SnapshotCommand::Restore(args) => restore(context, target, args).await,
        SnapshotCommand::Prune => prune(context, target).await,
        SnapshotCommand::Adopt => adopt(context, target).await,
    }
}

/// Opens the snapshots for reading. Says so if the database of the settings, where it can be read, has
/// used another target at that address: its disk may not be mounted.
async fn compared(
    context: &Context,
    target: Option<&BlobsKind>,
) -> anyhow::Result<SnapshotService> {
    let service = context.snapshots(target)?;
    let other = async {
        let store = context.store().await.ok()?;
        let other = service.other_target(&store).await;
        store.close().await;
        other.ok()?
    };
    if let Ok(Some(other)) = tokio::time::timeout(COMPARISON, other).await {
        note!("chatkeep: {other}");
    }
    Ok(service)
}

fn parsed<T: TryFrom<String, Error = &'static str>>(flag: &str, text: String) -> anyhow::Result<T> {
    T::try_from(text).map_err(|allowed| anyhow::anyhow!("{flag} must be {allowed}"))
}

async fn create(context: &Context, target: Option<&BlobsKind>, json: bool) -> anyhow::Result<()> {
    let source = context.snapshot_source().await?;
    let made = Box::pin(made(context, target, &source)).await;
    source.close().await;
    let made = made?;
    if json {
        return table::json(&made);
    }
    say!("{}", made.id)?;
    note!("{} files, {} bytes beside them", made.files, made.part_bytes());
    if made.files_gone > 0 {
        let gone = made.files_gone;
        note!("chatkeep: {gone} files were erased, lost or damaged and are not in it");
    }
    if !made.has_database() {
        note!("chatkeep: the database is not in it: make a dump of PostgreSQL beside it");
    }
    Ok(())
}

async fn made(
    context: &Context,
    target: Option<&BlobsKind>,
    source: &SnapshotSource,
) -> anyhow::Result<chatkeep_services::snapshots::SnapshotManifest> {
    let service = context.new_snapshots(&source.store, target).await?;
    Ok(service.create(source, SnapshotReason::Manual).await?)
}

fn list(records: &[SnapshotRecord], json: bool) -> anyhow::Result<()> {
    if json {
        return records.iter().try_for_each(|record| {
            let SnapshotRecord { id, manifest, fault } = record;
            table::json(&json!({ "id": id, "manifest": manifest, "fault": fault }))
        });
    }
    let rows: Vec<_> = records.iter().map(row).collect();
    let headings = ["ID", "MADE", "REASON", "SCHEMA", "BYTES", "FILES", "FILE BYTES", "ENCRYPTED"];
    table::print(&headings, &rows)
}

fn row(record: &SnapshotRecord) -> Vec<String> {
    let Some(manifest) = &record.manifest else {
        let state = if record.fault.is_some() { "damaged" } else { "not finished" };
        return vec![record.id.clone(), state.to_owned()];
    };
    vec![
        manifest.id.clone(),
        manifest.created_at.to_string(),
        format!("{:?}", manifest.reason).to_lowercase(),
        manifest.schema.to_string(),
        manifest.part_bytes().to_string(),
        manifest.files.to_string(),
        manifest.file_bytes.to_string(),
        if manifest.is_encrypted() { "yes" } else { "no" }.to_owned(),
    ]
}

async fn verify(
    service: &SnapshotService,
    id: &str,
    identities: &AgeIdentities,
) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let report = service.verify(id, identities, scratch.path()).await?;
    let id = &report.manifest.id;
    if report.contents {
        note!("{id} is whole and can be restored");
    } else {
        note!(
            "{id} is stored unchanged; its encrypted contents were not checked: give --identity FILE"
        );
    }
    Ok(())
}

async fn restore(
    context: &Context,
    target: Option<&BlobsKind>,
    args: RestoreArgs,
) -> anyhow::Result<()> {
    let config = &context.config;
    let into = destination(config, args.into)?;
    let erased_in = args.erased_in.into_iter().map(erased_in).collect::<anyhow::Result<_>>()?;
    let identities = AgeIdentities::read(&args.identity)?;
    let (skip_damaged_files, s3) = (args.skip_damaged_files, config.s3.clone());
    let request =
        RestoreRequest { id: args.id, into, identities, erased_in, skip_damaged_files, s3 };
    let service = compared(context, target).await?;
    // The restoration goes on although nobody reads the output any more.
    let mut printed = Ok(());
    let mut found = |finding: &chatkeep_services::doctor::Finding| {
        if printed.is_ok() {
            printed = say!("{finding}");
        }
    };
    let report = service.restore(&request, &mut found).await?;
    printed?;
    print_report(&report, &request);
    if report.damaged.count > 0 {
        bail!(FilesLeftOut(report.damaged.count));
    }
    Ok(())
}

/// Returns the place to restore to: a folder, or else the server of the settings.
fn destination(config: &Config, into: Option<PathBuf>) -> anyhow::Result<RestoreDestination> {
    match (into, &config.database) {
        (Some(path), _) => {
            let blobs = (!config.blobs_in_data).then(|| config.blobs.clone());
            Ok(RestoreDestination::Folder { path, blobs })
        }
        (None, Database::Sqlite) => bail!("give --into FOLDER, a new data folder"),
        (None, database) => Ok(RestoreDestination::Database {
            database: database.clone(),
            blobs: config.blobs.clone(),
        }),
    }
}

fn erased_in(place: String) -> anyhow::Result<ErasedIn> {
    if place.contains("://") {
        if has_password(&place) {
            note!(
                "chatkeep: --erased-in has a password in it, which everybody on this machine can read \
                 in the list of processes: leave it out, and name a file with it in PGPASSFILE"
            );
        }
        return Ok(ErasedIn::Server(parsed("--erased-in", place)?));
    }
    let folder = PathBuf::from(place);
    if !folder.join("chatkeep.db").exists() {
        bail!("--erased-in: {} contains no chatkeep data", folder.display());
    }
    Ok(ErasedIn::Folder(folder))
}

fn print_report(report: &RestoreReport, request: &RestoreRequest) {
    let place = match &request.into {
        RestoreDestination::Folder { path, .. } => path.display().to_string(),
        RestoreDestination::Database { database, .. } => database.to_string(),
    };
    let RestoreReport {
        manifest,
        messages,
        files,
        missing,
        damaged,
        replayed,
        ledgers,
        earlier_texts,
        unread,
        repaired,
        left,
    } = report;
    note!("{} was restored into {place}: {messages} messages, {files} files", manifest.id);
    match replayed {
        0 => note!("no erasure after this snapshot is known: {ledgers}"),
        replayed => note!("{replayed} erasures made after this snapshot were repeated"),
    }
    if *earlier_texts > 0 {
        note!("earlier texts of {earlier_texts} messages were erased: their channels keep none");
    }
    for why in unread {
        note!("chatkeep: some erasures could not be read and were not applied: {why}");
    }
    if *missing > 0 {
        note!("chatkeep: {missing} files are not in the snapshot; their messages say so");
    }
    print_damaged(damaged);
    if *repaired > 0 || *left > 0 {
        note!("chatkeep: {repaired} differences were repaired, {left} are left as they were");
    }
    if manifest.reason == SnapshotReason::Migration {
        note!("chatkeep: the snapshot has no files of messages: use those of the media store");
        if request.erased_in.is_empty() {
            note!(
                "chatkeep: data erased since the snapshot is present again: restore once more with \
                 --erased-in and the old data folder"
            );
        }
    }
    if matches!(request.into, RestoreDestination::Folder { .. }) {
        note!("its settings are in settings.toml there, without secrets");
    }
}

/// Names the files that were left out; of many the first ones.
fn print_damaged(damaged: &DamagedFiles) {
    for object in &damaged.first {
        note!("chatkeep: {object} is damaged or missing and was left out; its messages say so");
    }
    let named = u64::try_from(damaged.first.len()).unwrap_or(u64::MAX);
    let more = damaged.count.saturating_sub(named);
    if more > 0 {
        note!("chatkeep: and {more} more files");
    }
}

async fn adopt(context: &Context, target: Option<&BlobsKind>) -> anyhow::Result<()> {
    let source = context.snapshot_source().await?;
    let done = match context.snapshots(target) {
        Ok(service) => service.adopt(&source).await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    source.close().await;
    done?;
    note!("the snapshot target belongs to this database");
    Ok(())
}

async fn prune(context: &Context, target: Option<&BlobsKind>) -> anyhow::Result<()> {
    let source = context.snapshot_source().await?;
    let retention = SnapshotRetention::of(&context.config.snapshot);
    let done = match context.pruned_snapshots(target) {
        Ok(service) => service.prune(&source, retention).await.map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    source.close().await;
    let gone = done?;
    note!("{} snapshots and {} files were removed", gone.snapshots, gone.files);
    Ok(())
}
