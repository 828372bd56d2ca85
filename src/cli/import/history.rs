//! `chatkeep import list` and `chatkeep import undo`.

use anyhow::{Context as _, bail};
use chatkeep_core::id::ChannelId;
use chatkeep_services::imports::{ImportService, UndoProgress};
use chatkeep_store::{ImportId, ImportRecord, ImportState};
use chatkeep_transfer::out::note;

use super::super::progress::ProgressReporter;
use super::super::{Context, on_signal, table};

const BAR: &str = "{bar:30} {percent}% {msg}";

#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// List only imports into this channel.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct UndoArgs {
    /// Number of the import, as printed by `import` and `import list`.
    id: ImportId,
    /// Print the counts of removed messages as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Import with its present state.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedImport<'a> {
    #[serde(flatten)]
    import: &'a ImportRecord,
    state: ImportState,
}

/// Messages and bytes removed by undoing an import.
#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Undone {
    messages: u64,
    freed_bytes: i64,
}

pub(super) async fn list(context: &Context, args: &ListArgs) -> anyhow::Result<()> {
    let store = context.store().await?;
    let channel = args.channel.as_deref().map(ChannelId::from);
    let service = context.imports(&store);
    let imports = service.list(&context.operator, channel.as_ref()).await;
    store.close().await;
    let imports = imports?;
    let listed = imports.iter().map(|import| ListedImport { import, state: service.state(import) });
    let listed: Vec<_> = listed.collect();
    if args.json {
        return listed.iter().try_for_each(table::json);
    }
    let rows: Vec<_> = listed.iter().map(row).collect();
    let headings = ["ID", "STARTED", "STATE", "MESSAGES", "FILES", "TIME ZONE", "CHANNEL", "FILE"];
    table::print(&headings, &rows)
}

fn row(ListedImport { import, state }: &ListedImport<'_>) -> Vec<String> {
    vec![
        import.id.to_string(),
        import.started_at.to_string(),
        state.name().to_owned(),
        import.messages.to_string(),
        import.files.to_string(),
        import.time_zone.clone().unwrap_or_default(),
        import.channel_id.to_string(),
        import.file_name.clone(),
    ]
}

pub(super) async fn undo(context: &Context, args: &UndoArgs) -> anyhow::Result<()> {
    let store = context.store().await?;
    let undone = remove(context, &context.imports(&store), args.id).await;
    store.close().await;
    let (import, undone) = undone?;
    if args.json {
        return table::json(&undone);
    }
    let Undone { messages, freed_bytes } = undone;
    let again = match (import.undo_ended_at, import.undone_at) {
        (Some(at), _) => format!(" (already undone at {at})"),
        (None, Some(at)) => format!(" (the rest of what was begun to be undone at {at})"),
        (None, None) => String::new(),
    };
    note!(
        "import {}: {messages} messages removed, {freed_bytes} bytes freed{again}; the channel, its \
         members and subscriptions are kept",
        import.id
    );
    Ok(())
}

async fn remove(
    context: &Context,
    imports: &ImportService,
    id: ImportId,
) -> anyhow::Result<(ImportRecord, Undone)> {
    let Some(import) = imports.one(&context.operator, id).await? else {
        bail!("unknown import {id}; `chatkeep import list` shows all");
    };
    let total = u64::try_from(import.messages).unwrap_or_default();
    let mut bar = ProgressReporter::new(Some(total), BAR);
    let stop = on_signal()?;
    let watch = |UndoProgress { messages, .. }: UndoProgress| {
        bar.at(messages, || format!("{messages} messages removed"));
    };
    let undone = imports.undo(&context.operator, &import, watch);
    let done = stop.run_until_cancelled(undone).await;
    bar.end();
    let UndoProgress { messages, freed_bytes } =
        done.context("interrupted: run the command again for the rest")??;
    Ok((import, Undone { messages, freed_bytes }))
}
