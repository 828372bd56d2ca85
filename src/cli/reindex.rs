//! `chatkeep reindex`: builds the search index anew from the store.

use std::sync::Arc;

use anyhow::bail;
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::Store;
use chatkeep_workers::indexer;
use chatkeep_workers::jobs::reindex_job;

use super::progress::Progress;
use super::{Context, on_signal};
use crate::app;

const BAR: &str = "{bar:30} {percent}% {msg}";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only that channel; the service indexes it anew, now or after its next start.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
}

pub(super) async fn run(context: &Context, args: &Args) -> anyhow::Result<()> {
    let store = context.frugal_store().await?;
    let done = match &args.channel {
        Some(channel) => one(context, &store, &ChannelId::from(channel.as_str())).await,
        None => all(context, &store).await,
    };
    store.close().await;
    done
}

async fn one(context: &Context, store: &Store, channel: &ChannelId) -> anyhow::Result<()> {
    if store.channel(channel).await?.is_none() {
        bail!("there is no channel {channel}");
    }
    let bus = app::attach_bus(&context.config, Arc::clone(&context.clock)).await?;
    let cause = crate::api::random::text(16);
    let told = bus.publish(vec![reindex_job(channel, &cause)?]).await;
    bus.close().await;
    told?;
    println!("the service indexes {channel} anew");
    Ok(())
}

async fn all(context: &Context, store: &Store) -> anyhow::Result<()> {
    let folder = app::index_folder(&context.config);
    let total = u64::try_from(store.count_messages().await?).unwrap_or_default();
    let mut progress = Progress::new(Some(total), BAR);
    let mut read = 0;
    let watch = |messages| {
        read = messages;
        let position = u64::try_from(messages).unwrap_or(u64::MAX);
        progress.at(position, || format!("{messages} of {total} messages"));
    };
    let stop = on_signal()?;
    let rebuilt = stop.run_until_cancelled(indexer::rebuild(store, folder.clone(), watch)).await;
    progress.end();
    match rebuilt {
        None => bail!("interrupted: the old index stays"),
        Some(Err(error)) => Err(error.into()),
        Some(Ok(false)) => bail!(
            "there is no index in {}: the service that runs the stage indexer builds one when it \
             starts; run this where its data folder is",
            folder.display()
        ),
        Some(Ok(true)) => {
            println!("the index was built anew: {read} messages");
            Ok(())
        }
    }
}
