//! `chatkeep search`: searches the index of a running service, or of a stopped one.

use anyhow::bail;
use chatkeep_bus::Bus;
use chatkeep_core::config::BusKind;
use chatkeep_core::id::ChannelId;
use chatkeep_store::Store;

use super::{Context, table};
use crate::app::{self, PreflightError};
use crate::out::note;
use crate::search::{SearchError, SearchFallback, SearchResult, SearchService, Sort};
use crate::services::search::{MessageSearch, SearchFailure, SearchQuery};
use crate::view::{Links, MessageView};

/// Maximum length of a shown snippet in characters.
const SNIPPET: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Query: words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`,
    /// `before:2026-01-31`, `after:2026-01-01`.
    query: String,
    /// Search only this channel.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    /// Maximum number of results.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    limit: u16,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &SearchArgs) -> anyhow::Result<()> {
    let store = context.store().await?;
    let bus = match context.config.bus {
        BusKind::Embedded => None,
        BusKind::Nats(_) => Some(context.bus().await?),
    };
    let elsewhere = match &bus {
        Some(bus) => SearchFallback::Bus(bus.clone()),
        None => SearchFallback::Folder(app::index_folder(&context.config)),
    };
    let search = SearchService::new(None, elsewhere);
    let done = find(context, &store, search, args).await;
    store.close().await;
    if let Some(bus) = &bus {
        Bus::close(bus).await;
    }
    done
}

async fn find(
    context: &Context,
    store: &Store,
    index: SearchService,
    args: &SearchArgs,
) -> anyhow::Result<()> {
    let (known, mut zone) = (context.channels(store), context.config.time_zone);
    let channels = match &args.channel {
        Some(channel) => {
            let id = ChannelId::from(channel.as_str());
            let channel = known.any(&context.operator, &id).await?;
            let Some(channel) = channel else { bail!("unknown channel {id}") };
            zone = channel.zone(zone);
            vec![channel.id]
        }
        None => known.ids_of_all(&context.operator).await?,
    };
    let search = MessageSearch::for_operator(store, &context.clock, index, zone);
    let query = SearchQuery {
        text: args.query.clone(),
        from: None,
        to: None,
        sender: None,
        kind: None,
        sort: Sort::Relevance,
        limit: args.limit.into(),
        cursor: None,
        snippet: SNIPPET,
    };
    let found = search.unrestricted(&context.operator, channels, zone, &query).await;
    let page = found.map_err(|failure| match failure {
        SearchFailure::Search(SearchError::Query(why)) => anyhow::Error::from(PreflightError(why)),
        other => other.into(),
    })?;
    for name in page.unknown_names {
        note!("chatkeep: no person is named {name}");
    }
    show(page.hits, &Links::new(context.config.api.base_url.as_deref()), args.json)?;
    note!("chatkeep: {} messages match", page.total);
    Ok(())
}

fn show(hits: Vec<SearchResult>, links: &Links, json: bool) -> anyhow::Result<()> {
    if json {
        for hit in hits {
            let score = hit.score;
            let (snippet, highlights) = (hit.snippet.text, hit.snippet.highlights);
            let message = MessageView::new(hit.message, links);
            table::json(&serde_json::json!({
                "message": message, "score": score, "snippet": snippet, "highlights": highlights,
            }))?;
        }
        return Ok(());
    }
    let row = |hit: &SearchResult| {
        let message = &hit.message;
        let sender = message.sender.as_ref();
        let name = sender.map(|sender| {
            sender.display_name.clone().unwrap_or_else(|| sender.id.as_str().to_owned())
        });
        let text = hit.snippet.text.replace(['\n', '\r', '\t'], " ");
        vec![
            message.sent_at.to_string(),
            message.channel.to_string(),
            name.unwrap_or_default(),
            text,
        ]
    };
    let rows: Vec<_> = hits.iter().map(row).collect();
    table::print(&["SENT", "CHANNEL", "FROM", "TEXT"], &rows)
}
