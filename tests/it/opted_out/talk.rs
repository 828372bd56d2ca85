//! A random conversation of people with different fates.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use chatkeep_core::id::UserId;
use chatkeep_emulator::{Location, Media, MentionTarget, Post, Text, User};
use serde_json::{Map, json};
use tokio::task::JoinHandle;

use super::{GONE, NEVER, SHOWN};
use crate::stack::Stack;

/// Action of a person.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Say,
    Ask,
    Quote,
    Mention,
    Edit,
    Unsend,
    File,
    Place,
    NewType,
    /// An event that no stage can handle: a dead letter.
    Broken,
}

/// Expected fate of a person's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// They stay, but for single ones that are unsent.
    Stay,
    /// They opted out before they said anything.
    OptedOut,
    /// They take everything back in the end.
    TakenBack,
    /// The owner erases them in the end.
    Erased,
    /// They opted out, and in again in the middle.
    Returned,
}

pub(super) const FATES: [Fate; 5] =
    [Fate::Stay, Fate::OptedOut, Fate::TakenBack, Fate::Erased, Fate::Returned];

/// A conversation.
pub(super) struct Talk {
    pub(super) seed: usize,
    pub(super) channel: String,
    pub(super) key: String,
    pub(super) people: Vec<User>,
    /// Number of words so far.
    pub(super) words: usize,
    /// Last text message of each person: its id, and what it said one after another.
    pub(super) last: Vec<Option<(String, Vec<String>)>>,
    /// Messages that are taken back in the end.
    pub(super) taken_back: Vec<String>,
    /// Words that were unsent, or edited away where no earlier texts are kept.
    pub(super) gone: Vec<String>,
    /// Words that were edited away where earlier texts are kept, with whether they surely are.
    pub(super) earlier: Vec<(String, bool)>,
    /// Messages that stay.
    pub(super) stay: HashSet<String>,
    /// Number of messages that are missing.
    pub(super) missing: i64,
    /// Events that the page of the conversation received as it went on.
    pub(super) news: Arc<Mutex<String>>,
    pub(super) reader: JoinHandle<()>,
}

impl Talk {
    /// Lets a person act; `back` when who returns has done so.
    pub(super) async fn act(&mut self, stack: &Stack, (who, act): (usize, Act), back: bool) {
        let fate = FATES[who];
        let kept = fate != Fate::OptedOut && (fate != Fate::Returned || back);
        let mark = match fate {
            Fate::TakenBack | Fate::Erased => GONE,
            _ if kept => SHOWN,
            _ => NEVER,
        };
        self.words += 1;
        let word = format!("{mark}{}x{}z", self.seed, self.words);
        let (line, user) = (&stack.line, self.people[who].user_id.as_str());
        let is_never_read = matches!(fate, Fate::OptedOut | Fate::Erased) || !kept;
        if matches!(act, Act::Broken) && is_never_read {
            return self.break_off(stack, user, &word).await;
        }
        let other = self.last[(who + 1) % FATES.len()].clone();
        let post = match (act, self.last[who].clone(), other) {
            (Act::Edit, Some((own, mut words)), _) => {
                line.edit(&own, word.as_str()).await.unwrap();
                // Of two edits in one millisecond one alone counts; what was sent always does.
                let is_shown = fate == Fate::Stay && words.len() == 1;
                let before = words.last().cloned().unwrap();
                if self.keeps_earlier_texts() {
                    self.earlier.push((before, is_shown));
                } else {
                    self.gone.push(before);
                }
                words.push(word);
                self.last[who] = Some((own, words));
                return;
            }
            (Act::Unsend, Some((own, words)), _) => {
                line.unsend(&own).await.unwrap();
                self.earlier.retain(|(earlier, _)| !words.contains(earlier));
                self.gone.extend(words);
                self.stay.remove(&own);
                self.last[who] = None;
                return;
            }
            (Act::Ask, ..) => Post::Text(Text::from(format!("{word} hours"))),
            (Act::Quote, _, Some((other, _))) => {
                Post::Text(Text::from(word.clone()).quoting(other))
            }
            (Act::Mention, ..) => {
                let next = &self.people[(who + 1) % FATES.len()];
                let target = MentionTarget::User(next.user_id.clone());
                Post::Text(Text::from(format!("{word} @you")).mentioning("@you", target))
            }
            (Act::File, ..) => {
                Post::File(Media::new("text/plain", word.clone()), format!("{word}.txt"))
            }
            (Act::Place, ..) => {
                let (title, address) = (Some(word.clone()), None);
                Post::Location(Location { title, address, latitude: 1.0, longitude: 2.0 })
            }
            (Act::NewType, ..) => {
                let fields = Map::from_iter([("note".to_owned(), json!(word))]);
                Post::Unknown("hologram".to_owned(), fields)
            }
            _ => Post::Text(Text::from(word.clone())),
        };
        let is_text = matches!(post, Post::Text(_));
        let told = line.post_message(&self.channel, user, post).await.unwrap();
        let id = told.message_id().unwrap().to_owned();
        // Only texts can be edited, and quotes have a token.
        self.last[who] = is_text.then(|| (id.clone(), vec![word]));
        match fate {
            _ if !kept => self.missing += 1,
            Fate::TakenBack => self.taken_back.push(id),
            Fate::Erased => {}
            _ => drop(self.stay.insert(id)),
        }
    }

    /// Sends an event that cannot be decoded.
    async fn break_off(&self, stack: &Stack, user: &str, word: &str) {
        let event = json!({
            "type": "message", "mode": "active", "timestamp": stack.line.now(),
            "webhookEventId": format!("broken-{}-{}", self.seed, self.words),
            "source": {"type": "group", "groupId": self.channel, "userId": user},
            "message": {"type": "text", "id": [7], "text": [word]},
        });
        let body = json!({"destination": "U1", "events": [event]}).to_string();
        assert_eq!(stack.line.post(stack.line.sign_raw(body)).await, Some(200));
    }

    /// True for some conversations, whose messages are opened one by one.
    pub(super) const fn is_thorough(&self) -> bool {
        self.seed.is_multiple_of(6)
    }

    /// True for some conversations, in which earlier texts of edited messages are kept.
    pub(super) const fn keeps_earlier_texts(&self) -> bool {
        self.seed.is_multiple_of(4)
    }

    pub(super) fn user(&self, fate: Fate) -> UserId {
        let who = FATES.iter().position(|one| *one == fate).unwrap();
        UserId::from(self.people[who].user_id.as_str())
    }
}
