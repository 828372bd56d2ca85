//! `get_messages` and `search_messages`.

use chatkeep_store::{Gap, Order};

use super::answer::{HitsOutput, MessagesOutput, NOTE};
use super::call::ToolResult;
use super::input::{self, GetMessages, SearchMessages};
use super::person;
use super::result_builder::{self, ResultBuilder, RowText};
use super::text_row;
use crate::sanitize::quoted;
use crate::search::Sort;
use crate::services::access::{Member, ReadMessages};
use crate::services::gaps::TimeSpan;
use crate::services::messages::{MessagePage, MessageQuery};
use crate::services::search::{SearchPage, SearchQuery};
use crate::services::{Caller, FieldPath, ServiceError, Services};

/// Maximum length of a snippet in characters.
const SNIPPET: usize = 240;

/// Returns the messages of a channel, newest first.
pub(super) async fn messages(
    services: &Services,
    caller: Caller,
    asked: GetMessages,
) -> Result<ToolResult, ServiceError> {
    let channel = input::channel(&asked.channel_id)?;
    let access = services.access.channel::<Member, ReadMessages>(caller, channel).await?;
    let query = MessageQuery {
        limit: asked.limit,
        order: Order::Descending,
        date: asked
            .date
            .as_deref()
            .map(|day| input::day(FieldPath::body("/date"), day))
            .transpose()?,
        from: input::when(FieldPath::body("/from"), asked.from.as_deref())?,
        to: input::when(FieldPath::body("/to"), asked.to.as_deref())?,
        sender: person::sender(
            services,
            std::slice::from_ref(access.without_reading()),
            asked.sender_id,
        )
        .await?,
        cursor: asked.cursor,
        around: None,
        kind: None,
    };
    let MessagePage { messages, next, span } = services.messages.page(&access, &query).await?;
    let mut builder = ResultBuilder::new(asked.limit);
    let shown = messages
        .iter()
        .take_while(|message| builder.add(&RowText { message, snippet: None }))
        .count();
    let next = if shown < messages.len() {
        messages[..shown].last().and_then(|last| query.cursor_after(last))
    } else {
        next
    };
    let (bounds, channel) = (&access.caller.bounds, access.without_reading());
    let gaps = services.messages.gaps(bounds, channel, span).await?;
    let url = services.links.template(Some(channel));
    ToolResult::new(messages_result(builder, &gaps, next, url))
}

fn messages_result(
    builder: ResultBuilder,
    gaps: &[Gap],
    next: Option<String>,
    url: Option<String>,
) -> (MessagesOutput, String) {
    let (gaps, gaps_omitted) = result_builder::gaps(gaps);
    let first = match builder.rows.len() {
        0 => "No messages.".to_owned(),
        1 => "1 message.".to_owned(),
        count => format!("{count} messages, newest first."),
    };
    let mut head = text_row::head(&first, &builder.people);
    head.push_str(&text_row::pages(url.as_deref()));
    let tail = text_row::tail(&gaps, gaps_omitted, next.as_deref());
    let text = format!("{head}\n{}{tail}", builder.lines.join("\n"));
    let answer = MessagesOutput {
        note: NOTE,
        people: builder.people,
        message_url: url,
        messages: builder.rows,
        gaps,
        gaps_omitted,
        next_cursor: next,
        truncated: builder.truncated,
    };
    (answer, text)
}

/// Returns search results in one channel, or in all that the caller may read.
pub(super) async fn hits(
    services: &Services,
    caller: Caller,
    asked: SearchMessages,
) -> Result<ToolResult, ServiceError> {
    let access = services.access.scoped::<ReadMessages>(caller)?;
    if asked.query.contains('\0') {
        return Err(ServiceError::invalid_value(FieldPath::body("/query"), "contains U+0000"));
    }
    let channel = asked.channel_id.as_deref().map(input::channel).transpose()?;
    let sender = match asked.sender_id {
        Some(given) => {
            let channels = services.search.channels(&access.caller, channel.as_ref()).await?;
            person::sender(services, &channels, Some(given)).await?
        }
        None => None,
    };
    let query = SearchQuery {
        text: asked.query,
        from: input::when(FieldPath::body("/from"), asked.from.as_deref())?,
        to: input::when(FieldPath::body("/to"), asked.to.as_deref())?,
        sender,
        kind: None,
        sort: Sort::Relevance,
        limit: asked.limit,
        cursor: asked.cursor,
        snippet: SNIPPET,
    };
    let page = services.search.everywhere(&access, channel.as_ref(), &query).await?;
    let builder = found(&page);
    // A cursor of the index points behind a whole page, so a shorter page is requested.
    let page = if builder.rows.len() < page.hits.len() {
        let limit = u32::try_from(builder.rows.len()).unwrap_or(asked.limit);
        let shorter = SearchQuery { limit, ..query.clone() };
        services.search.everywhere(&access, channel.as_ref(), &shorter).await?
    } else {
        page
    };
    let gaps = match &channel {
        Some(channel) => {
            let from = services
                .messages
                .moment(Some(channel), FieldPath::body("/from"), query.from)
                .await?;
            let to =
                services.messages.moment(Some(channel), FieldPath::body("/to"), query.to).await?;
            let span = TimeSpan { from, to };
            services.messages.gaps(&access.caller.bounds, channel, span).await?
        }
        None => Vec::new(),
    };
    let url = services.links.template(None);
    ToolResult::new(hits_result(builder, page, &gaps, url))
}

fn found(page: &SearchPage) -> ResultBuilder {
    let mut builder = ResultBuilder::new(0);
    for hit in &page.hits {
        if !builder.add(&RowText { message: &hit.message, snippet: Some(&hit.snippet.text) }) {
            break;
        }
    }
    builder
}

fn hits_result(
    builder: ResultBuilder,
    page: SearchPage,
    gaps: &[Gap],
    url: Option<String>,
) -> (HitsOutput, String) {
    let (gaps, gaps_omitted) = result_builder::gaps(gaps);
    let first = match page.total {
        0 => "No results.".to_owned(),
        total => format!("{} of {total} found, best first.", builder.rows.len()),
    };
    let nobody =
        page.unknown_names.iter().map(|name| format!(" Nobody is called {}.", quoted(name)));
    let first = format!("{first}{}", nobody.collect::<String>());
    let mut head = text_row::head(&first, &builder.people);
    if !builder.channels.is_empty() {
        let channels = builder.channels.iter().map(|(key, id)| format!("{key} = {id}"));
        head.push_str("\nChannels: ");
        head.push_str(&channels.collect::<Vec<_>>().join(", "));
    }
    head.push_str(&text_row::pages(url.as_deref()));
    let tail = text_row::tail(&gaps, gaps_omitted, page.next.as_deref());
    let text = format!("{head}\n{}{tail}", builder.lines.join("\n"));
    let answer = HitsOutput {
        note: NOTE,
        total: page.total,
        unknown_names: page.unknown_names,
        channels: builder.channels,
        people: builder.people,
        message_url: url,
        hits: builder.rows,
        gaps,
        gaps_omitted,
        next_cursor: page.next,
        truncated: builder.truncated,
    };
    (answer, text)
}
