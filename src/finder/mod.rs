//! Search, wherever there is an index: in the replica of this process, in that of another one on the
//! bus, or in the data folder of another process.
//!
//! The index holds no text and no names. So whoever searches looks up whom `from:` names
//! ([`Asked::people`]) before, and loads the messages that were found afterwards
//! ([`Asked::look_up`]).

mod lookup;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::bus::{Bus, BusError};
use chatkeep_core::causes::with_causes;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::log_failure;
use chatkeep_core::message::MessageType;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{self, Cursor, MessageIndex, Query, SearchRequest};
use chatkeep_workers::replica::{Replica, ReplicaPhase};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

pub use lookup::{FoundMessage, People};

/// What searches are asked under.
const TOPIC: &str = "search";

/// How long each replica that is asked in turn may take. It reads memory and disk, so longer than
/// that is an outage: its process may have died with the question.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(3)];

/// Until a bus that refuses to be listened to is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Searches that one process does for others at once: they keep a processor busy each.
const AT_ONCE: usize = 4;

/// What to look for, and where the caller may.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Find {
    /// The query as typed.
    pub query: String,
    /// Where the days of `before:` and `after:` begin: minutes east of UTC.
    pub utc_offset: i32,
    /// Only these channels: all that the caller may read, or some of them. Without any, nothing is
    /// found.
    pub channels: Vec<ChannelId>,
    /// Whom the names in `from:` mean (see [`Asked::people`]); a name that is not here is taken for
    /// an id.
    pub people: BTreeMap<String, Vec<UserId>>,
    /// Sent then or later.
    pub from: Option<Timestamp>,
    /// Sent before.
    pub to: Option<Timestamp>,
    /// Only of this sender.
    pub sender: Option<UserId>,
    /// Only of this type.
    pub kind: Option<MessageType>,
    /// The order.
    pub sort: Sort,
    /// Hits on a page, at most.
    pub limit: usize,
    /// [`Found::next`] of the page before; holds for the same search only.
    pub cursor: Option<String>,
}

/// The order of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sort {
    /// What fits best first.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
}

/// A page of what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// In order.
    pub hits: Vec<Hit>,
    /// Messages on all pages together, related ones included.
    pub total: usize,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<String>,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Its channel.
    pub channel: ChannelId,
    /// Its id.
    pub message: MessageId,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// How well it fits; 0 when sorted by time.
    pub score: f32,
}

/// Why nothing can be said about what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum FindError {
    /// The query cannot be understood; the text is for whoever typed it.
    #[error("{0}")]
    Query(String),
    /// The cursor is none.
    #[error("not a search cursor")]
    Cursor,
    /// No index can be asked right now; the text is for the operator.
    #[error("search is down: {0}")]
    Unavailable(String),
}

/// A query, understood.
#[derive(Clone, Debug)]
pub struct Asked(Query);

/// A part of a message around what was found in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The part, with `…` where text is left out.
    pub text: String,
    /// What was found, in order.
    pub highlights: Vec<Highlight>,
}

/// Where something stands, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// Its first character.
    pub start: usize,
    /// The character after its last one.
    pub end: usize,
}

impl Asked {
    /// Understands a query whose days begin so many minutes east of UTC.
    ///
    /// # Errors
    /// [`FindError::Query`].
    pub fn parse(query: &str, utc_offset: i32) -> Result<Self, FindError> {
        let query = Query::parse_at(query, utc_offset);
        query.map(Self).map_err(|error| FindError::Query(error.to_string()))
    }

    /// What `from:` names, names and ids alike.
    pub fn names(&self) -> BTreeSet<&str> {
        self.0.from.wanted.iter().chain(&self.0.from.unwanted).map(String::as_str).collect()
    }

    /// At most `max` characters of a found message's searchable text
    /// (`Content::searchable`), what was found in it marked.
    pub fn snippet(&self, text: &str, max: usize) -> Snippet {
        let search::Snippet { text, highlights } = search::snippet(text, &self.0, max);
        let mark = |range: std::ops::Range<usize>| Highlight { start: range.start, end: range.end };
        Snippet { text, highlights: highlights.into_iter().map(mark).collect() }
    }
}

/// Searches: in the replica of this process, or wherever else there is an index. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Finder {
    /// The replica of this process.
    local: Option<Replica>,
    elsewhere: Elsewhere,
    available: Availability,
}

/// Where to search when this process has no replica that is ready.
#[derive(Clone, Debug)]
pub enum Elsewhere {
    /// Nowhere.
    Nowhere,
    /// In the replica of another process, asked over the bus.
    Bus(Bus),
    /// In the folder of an index that another process on this machine keeps up to date.
    Folder(PathBuf),
}

impl Finder {
    /// A search in `local` where that is ready, else `elsewhere`.
    pub fn new(local: Option<Replica>, elsewhere: Elsewhere) -> Self {
        let (address, setting) = match &elsewhere {
            Elsewhere::Nowhere => ("this process".to_owned(), "CHATKEEP_DATA"),
            Elsewhere::Bus(_) => ("the replicas on the bus".to_owned(), "serve --roles search"),
            Elsewhere::Folder(folder) => (folder.display().to_string(), "CHATKEEP_DATA"),
        };
        Self { local, elsewhere, available: Availability::new("search", address, setting) }
    }

    /// The availability of search, wherever it is done.
    pub const fn availability(&self) -> &Availability {
        &self.available
    }

    /// Searches for nothing, to find out whether that works.
    pub(crate) async fn probe(&self) {
        let nothing = Find { query: "x".to_owned(), limit: 1, ..Find::default() };
        // The result is noted.
        let _ = self.find(nothing).await;
    }

    /// Notes whether an index could be asked, unless something else is away that search needs.
    fn note(&self, found: &Result<Found, FindError>) {
        let bus = match &self.elsewhere {
            Elsewhere::Bus(bus) => bus.availability().is_troubled(),
            Elsewhere::Nowhere | Elsewhere::Folder(_) => false,
        };
        let replica = self.local.as_ref().is_some_and(Replica::is_troubled);
        match found {
            Err(FindError::Unavailable(why)) if !bus && !replica => {
                self.available.fails(Work::Reading, why);
            }
            Ok(_) => self.available.works(Work::Reading),
            Err(_) => {}
        }
    }

    /// Searches.
    ///
    /// # Errors
    /// [`FindError`]: what is wrong with the query or the cursor, or why there is no index.
    pub async fn find(&self, find: Find) -> Result<Found, FindError> {
        // A bad query is the caller's fault, whether there is an index or not.
        find.check()?;
        let found = self.find_anywhere(find).await;
        self.note(&found);
        found
    }

    async fn find_anywhere(&self, find: Find) -> Result<Found, FindError> {
        let here = match &self.local {
            Some(replica) => Some(find_in(replica, find.clone()).await),
            None => None,
        };
        match (here, &self.elsewhere) {
            // Another replica may do what this one cannot.
            (None | Some(Err(FindError::Unavailable(_))), Elsewhere::Bus(bus)) => {
                ask(bus, &find).await
            }
            (Some(found), _) => found,
            (None, Elsewhere::Folder(folder)) => {
                let folder = folder.clone();
                blocking(move || search(&open(&folder)?, &find)).await
            }
            (None, Elsewhere::Nowhere) => {
                Err(FindError::Unavailable("no process runs it".to_owned()))
            }
        }
    }
}

/// Searches `replica` for other processes on the bus, whenever it is ready, until `stop`.
pub async fn answer(bus: Bus, replica: Replica, stop: CancellationToken) {
    let mut state = replica.watch();
    loop {
        let ready = state.wait_for(|state| state.phase == ReplicaPhase::Ready);
        // The replica outlives its watchers here.
        let Some(Ok(_)) = stop.run_until_cancelled(ready).await else { return };
        let asked = replica.clone();
        let handler = move |question: Bytes| {
            let replica = asked.clone();
            async move {
                let found = match serde_json::from_slice(&question) {
                    Ok(find) => find_in(&replica, find).await,
                    Err(_) => {
                        Err(FindError::Unavailable("asked in another version's words".into()))
                    }
                };
                // Numbers and texts: there is nothing that JSON could not hold.
                serde_json::to_vec(&found).unwrap_or_default().into()
            }
        };
        match bus.answer(TOPIC, AT_ONCE, handler).await {
            Ok(answering) => {
                let mut state = replica.watch();
                let stop = stop.clone();
                let end = async move {
                    let unready = state.wait_for(|state| state.phase != ReplicaPhase::Ready);
                    let _ = stop.run_until_cancelled(unready).await;
                };
                answering.run(end).await;
            }
            Err(error) => {
                log_failure!(warn, &error, "searches of other processes are not answered");
                stop.run_until_cancelled(tokio::time::sleep(RETRY_INTERVAL)).await;
            }
        }
    }
}

async fn find_in(replica: &Replica, find: Find) -> Result<Found, FindError> {
    if let Some(reason) = replica.state().unready() {
        return Err(FindError::Unavailable(reason));
    }
    let index = replica.index();
    let found = blocking(move || search(&index, &find)).await;
    match &found {
        Err(FindError::Unavailable(why)) => replica.availability().fails(Work::Reading, why),
        _ => replica.availability().works(Work::Reading),
    }
    found
}

/// Asks one replica, and another one if that does not answer or is not ready any more.
async fn ask(bus: &Bus, find: &Find) -> Result<Found, FindError> {
    let question = Bytes::from(serde_json::to_vec(find).map_err(|error| unavailable(&error))?);
    let mut failure = FindError::Unavailable(String::new());
    for timeout in TIMEOUTS {
        failure = match bus.ask(TOPIC, question.clone(), timeout).await {
            Ok(answer) => match serde_json::from_slice::<Result<Found, FindError>>(&answer) {
                Ok(Err(error @ FindError::Unavailable(_))) => error,
                Ok(found) => return found,
                Err(error) => unavailable(&error),
            },
            Err(BusError::Unanswered(_)) => {
                let why = "no process runs it (chatkeep serve --roles search)";
                return Err(FindError::Unavailable(why.to_owned()));
            }
            Err(error @ BusError::Late(_)) => unavailable(&error),
            Err(error) => return Err(unavailable(&error)),
        };
    }
    Err(failure)
}

/// Opened anew for each search: so it is always what the other process committed last, also after
/// that one threw the index away and began again.
fn open(folder: &std::path::Path) -> Result<MessageIndex, FindError> {
    let index = MessageIndex::open_existing(folder).map_err(|error| unavailable(&error))?;
    index.ok_or_else(|| {
        let folder = folder.display();
        FindError::Unavailable(format!(
            "no process runs it, and none has made an index in {folder}"
        ))
    })
}

async fn blocking(
    search: impl FnOnce() -> Result<Found, FindError> + Send + 'static,
) -> Result<Found, FindError> {
    tokio::task::spawn_blocking(search).await.unwrap_or_else(|error| Err(unavailable(&error)))
}

fn search(index: &MessageIndex, find: &Find) -> Result<Found, FindError> {
    let (Asked(mut query), cursor) = find.check()?;
    // Its writer commits when it holds everything.
    if index.progress().is_none() {
        return Err(FindError::Unavailable("the index is being filled".to_owned()));
    }
    query.resolve_senders(|name| {
        let ids = find.people.get(name).into_iter().flatten();
        ids.map(|id| id.as_str().to_owned()).collect()
    });
    let channels: Vec<_> = find.channels.iter().map(ChannelId::as_str).collect();
    let sender = find.sender.as_ref().map(|sender| [sender.as_str()]);
    let request = SearchRequest {
        channels: Some(&channels),
        senders: sender.as_ref().map(<[_; 1]>::as_slice),
        kind: find.kind.map(MessageType::name),
        from: find.from.map(Timestamp::millis),
        to: find.to.map(Timestamp::millis),
        sort: match find.sort {
            Sort::Relevance => search::Sort::Relevance,
            Sort::Newest => search::Sort::Newest,
        },
        limit: find.limit,
        cursor: cursor.as_ref(),
        ..SearchRequest::new(&query)
    };
    let page = index.search(&request).map_err(|error| unavailable(&error))?;
    let hits = page.hits.into_iter().map(|hit| Hit {
        channel: hit.channel_id.into(),
        message: hit.message_id.into(),
        sent_at: Timestamp::from_millis(hit.sent_at),
        score: hit.score,
    });
    let next = page.next.map(|cursor| cursor.to_string());
    Ok(Found { hits: hits.collect(), total: page.total, next })
}

impl Find {
    fn check(&self) -> Result<(Asked, Option<Cursor>), FindError> {
        let asked = Asked::parse(&self.query, self.utc_offset)?;
        let cursor = self.cursor.as_deref().map(str::parse).transpose();
        Ok((asked, cursor.map_err(|_| FindError::Cursor)?))
    }
}

fn unavailable(error: &(dyn Error + 'static)) -> FindError {
    FindError::Unavailable(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_for_names_and_marks_what_was_found() {
        let asked = Asked::parse("from:Ann -from:\"Bo Li\" from:Ann hello", 0).unwrap();
        assert_eq!(asked.names().into_iter().collect::<Vec<_>>(), ["Ann", "Bo Li"]);
        let snippet = asked.snippet("say hello", 100);
        let highlights = vec![Highlight { start: 4, end: 9 }];
        assert_eq!(snippet, Snippet { text: "say hello".to_owned(), highlights });
    }

    #[tokio::test]
    async fn faults_of_the_asker_are_told_apart_from_a_missing_index() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder_of_index = Elsewhere::Folder(folder.path().join("index"));
        let finder = Finder::new(None, folder_of_index);
        let find = |query: &str, cursor: Option<&str>| Find {
            query: query.to_owned(),
            cursor: cursor.map(str::to_owned),
            ..Find::default()
        };
        let bad = finder.find(find("type:song", None)).await;
        assert!(matches!(bad, Err(FindError::Query(why)) if why.contains("song")));
        assert_eq!(finder.find(find("word", Some("x"))).await, Err(FindError::Cursor));
        let none = finder.find(find("word", Some("e.0.5.5."))).await;
        assert!(matches!(none, Err(FindError::Unavailable(_))), "{none:?}");
        assert!(!folder.path().join("index").exists(), "only looked at");
    }
}
