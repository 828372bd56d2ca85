//! `chatkeep search`: searches the index of a running service, or of a stopped one.

use anyhow::bail;
use chatkeep_core::config::BusKind;
use chatkeep_core::id::ChannelId;
use chatkeep_search::{SearchError, SearchFallback, SearchResult, SearchService, UnknownName};
use chatkeep_services::channels::ChannelService;
use chatkeep_services::search::{MessageSearch, SearchFailure, SearchPage, SearchQuery};
use chatkeep_transfer::out::note;
use chatkeep_view::{Links, MessageView};
use chrono_tz::Tz;

use super::{Context, table};
use crate::app::{self, PreflightError};

/// Maximum length of a shown snippet in characters.
const SNIPPET: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Query: words, `"a phrase"`, `-without`, `from:name`, `type:image`, `has:link`, `has:media`,
    /// `before:2026-01-31`, `after:2026-01-01`.
    query: String,
    /// Search only this channel.
    #[arg(long, value_name = "ID")]
    channel: Option<String>,
    /// Maximum number of results.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    limit: u16,
    /// Print one JSON object per line.
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
        None => SearchFallback::folder(app::index_folder(&context.config)),
    };
    let search = SearchService::new(None, elsewhere);
    let done = match reach(context, &context.channels(&store), args).await {
        Ok((channels, zone)) => {
            let search = MessageSearch::for_operator(&store, &context.clock, search, zone);
            find(context, &search, (channels, zone), args).await
        }
        Err(error) => Err(error),
    };
    store.close().await;
    if let Some(bus) = &bus {
        bus.close().await;
    }
    done
}

/// Returns the channels to search, and the zone in which times are read.
async fn reach(
    context: &Context,
    known: &ChannelService,
    args: &SearchArgs,
) -> anyhow::Result<(Vec<ChannelId>, Tz)> {
    let zone = context.config.time_zone;
    let Some(channel) = &args.channel else {
        return Ok((known.ids_of_all(&context.operator).await?, zone));
    };
    let id = ChannelId::from(channel.as_str());
    let Some(channel) = known.any(&context.operator, &id).await? else {
        bail!("unknown channel {id}");
    };
    let zone = channel.zone(zone);
    Ok((vec![channel.id], zone))
}

async fn find(
    context: &Context,
    search: &MessageSearch,
    (channels, zone): (Vec<ChannelId>, Tz),
    args: &SearchArgs,
) -> anyhow::Result<()> {
    let query = SearchQuery::of_text(args.query.clone(), args.limit.into(), SNIPPET);
    let found = search.unrestricted(&context.operator, channels, zone, &query).await;
    let page = found.map_err(|failure| match failure {
        SearchFailure::Search(SearchError::Query(why)) => anyhow::Error::from(PreflightError(why)),
        other => other.into(),
    })?;
    for UnknownName { name, near } in &page.unknown_names {
        let near: Vec<_> = near.iter().map(|(_, name)| name.as_str()).collect();
        let hint = if near.is_empty() { String::new() } else { format!(": {}?", near.join(", ")) };
        note!("chatkeep: nobody is named {name}{hint}");
    }
    let count = count(&page);
    show(page.hits, &app::links(&context.config)?, args.json)?;
    note!("chatkeep: {count}");
    Ok(())
}

/// Returns what was found, in words: related messages do not match.
fn count(page: &SearchPage) -> String {
    let at_least = if page.is_total_exact { "" } else { "at least " };
    match (page.total - page.related.min(page.total), page.related) {
        (matches, 0) => format!("{at_least}{matches} messages match"),
        (0, related) => format!("no message matches, {at_least}{related} are related"),
        (matches, related) => {
            format!("{at_least}{matches} messages match, {related} more are related")
        }
    }
}

fn show(hits: Vec<SearchResult>, links: &Links, json: bool) -> anyhow::Result<()> {
    if json {
        for hit in hits {
            let (score, related) = (hit.score, hit.related);
            let (snippet, highlights) = (hit.snippet.text, hit.snippet.highlights);
            let message = MessageView::new(hit.message, links);
            table::json(&serde_json::json!({
                "message": message, "score": score, "related": related, "snippet": snippet,
                "highlights": highlights,
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
        let text = hit.legible_snippet().replace(['\n', '\r', '\t'], " ");
        vec![
            message.sent_at.to_string(),
            message.channel.to_string(),
            name.unwrap_or_default(),
            if hit.related { "related" } else { "all" }.to_owned(),
            text,
        ]
    };
    let rows: Vec<_> = hits.iter().map(row).collect();
    table::print(&["SENT", "CHANNEL", "FROM", "MATCH", "TEXT"], &rows)
}
