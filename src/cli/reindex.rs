//! `chatkeep reindex`: builds the search index anew from the store.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::Store;
use chatkeep_workers::indexer;
use chatkeep_workers::jobs::reindex_job;

use super::progress::Progress;
use super::{Context, on_signal};
use crate::app;

const BAR: &str = "{bar:30} {percent}% {msg}";

/// Between two looks at how far the service is.
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only that channel; the service indexes it anew, now or after its next start.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,

    /// Do not wait for the service to have done so.
    #[arg(long, requires = "channel")]
    no_wait: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> anyhow::Result<()> {
    let store = context.frugal_store().await?;
    let done = match &args.channel {
        Some(channel) => one(context, &store, &channel.as_str().into(), !args.no_wait).await,
        None => all(context, &store).await,
    };
    store.close().await;
    done
}

async fn one(
    context: &Context,
    store: &Store,
    channel: &ChannelId,
    wait: bool,
) -> anyhow::Result<()> {
    if store.channel(channel).await?.is_none() {
        bail!("there is no channel {channel}");
    }
    let id = crate::api::random::text(16);
    if wait {
        store.ask_reindexing(&id, channel, context.clock.now()).await?;
    }
    let bus = app::attach_bus(&context.config, Arc::clone(&context.clock)).await?;
    let told = bus.publish(vec![reindex_job(channel, &id)?]).await;
    bus.close().await;
    told?;
    if !wait {
        println!("the service indexes {channel} anew");
        return Ok(());
    }
    let stop = on_signal()?;
    let ended = stop.run_until_cancelled(watch(store, &id)).await;
    store.forget_reindexing(&id).await?;
    match ended {
        None => println!("not waited for: the service indexes {channel} anew all the same"),
        Some(messages) => println!("{channel} was indexed anew: {} messages", messages?),
    }
    Ok(())
}

/// Shows how far the service is, until it has indexed the channel; the messages of it.
async fn watch(store: &Store, id: &str) -> anyhow::Result<u64> {
    let state = async || {
        store.reindexing(id).await?.context("the channel was asked for more than a day ago")
    };
    let mut now = state().await?;
    let mut progress = Progress::new(Some(now.total), BAR);
    while !now.ended {
        progress.at(now.done, || match now.done {
            0 => "waiting for the service that runs the stage indexer".to_owned(),
            done => format!("{done} of {} messages", now.total),
        });
        tokio::time::sleep(PAUSE).await;
        now = state().await?;
    }
    progress.end();
    Ok(now.done)
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
