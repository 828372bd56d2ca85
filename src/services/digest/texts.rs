//! Mentions, questions and links in the texts of a digest.

use std::collections::{BTreeSet, HashMap};

use chatkeep_core::id::UserId;
use chatkeep_core::message::{Content, Mention};
use chatkeep_index::answer::similar::looks_like_question;
use chatkeep_index::{web_links, without_addresses};
use chatkeep_store::{DigestKey, NotedText, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};
use url::Url;

use super::is_user;

/// Marks of a question. A text with none of them is not examined: the index of these texts has the
/// same ones.
const MARKS: [&str; 8] = ["?", "？", "嗎", "吗", "ですか", "ますか", "ไหม", "มั้ย"];

/// Links to one host.
#[derive(Clone, Debug)]
pub struct HostLinks {
    /// Host, in lower case.
    pub host: String,
    /// Number of messages with a link to it.
    pub messages: usize,
    /// The first of them.
    pub first: Masked<StoredMessage>,
}

/// Host of links, with the first message that has one.
#[derive(Debug)]
pub(super) struct FoundHost {
    host: String,
    messages: usize,
    pub(super) first: DigestKey,
}

/// Findings in the texts of a digest. Messages are in their order, newest first.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Messages that mention the caller.
    pub(super) mentions: Vec<DigestKey>,
    /// Questions of people.
    pub(super) questions: Vec<DigestKey>,
    /// Number of messages with a link.
    pub(super) links: usize,
    /// Hosts of links, most messages first.
    pub(super) hosts: Vec<FoundHost>,
}

impl Findings {
    /// Examines texts, newest first, for the caller.
    pub(super) fn new(texts: &[NotedText], me: &UserId) -> Self {
        let mut findings = Self::default();
        let mut hosts: HashMap<String, FoundHost> = HashMap::new();
        for noted in texts {
            let Content::Text { text, mentions, .. } = &noted.content else { continue };
            let sender = noted.sender.as_ref();
            if !is_user(sender, me) && mentions.iter().any(|one| means(text, one, me)) {
                findings.mentions.push(noted.key.clone());
            }
            if !noted.is_bot && is_question(text) {
                findings.questions.push(noted.key.clone());
            }
            let linked = hosts_in(text);
            findings.links += usize::from(!linked.is_empty());
            for host in linked {
                let (messages, first) = (0, noted.key.clone());
                let entry = hosts.entry(host.clone());
                let entry = entry.or_insert(FoundHost { host, messages, first });
                entry.messages += 1;
                // Older ones come later.
                entry.first.clone_from(&noted.key);
            }
        }
        findings.hosts = hosts.into_values().collect();
        findings.hosts.sort_by(|a, b| (b.messages, &a.host).cmp(&(a.messages, &b.host)));
        findings
    }

    /// Returns the hosts whose first message is among these and shows them to the reader: a host
    /// that names a person is masked there.
    pub(super) fn hosts_with(
        &self,
        shown: &HashMap<DigestKey, Masked<StoredMessage>>,
        mask: &Mask,
    ) -> Vec<HostLinks> {
        let host = |found: &FoundHost| {
            let first = shown.get(&found.first)?.clone();
            let Some(Content::Text { text, .. }) = &first.content else { return None };
            let is_shown = hosts_in(&mask.outgoing(text)).contains(&found.host);
            let (host, messages) = (found.host.clone(), found.messages);
            is_shown.then_some(HostLinks { host, messages, first })
        };
        self.hosts.iter().filter_map(host).collect()
    }
}

/// Returns true if a mention is of that user, or of everybody.
fn means(text: &str, mention: &Mention, me: &UserId) -> bool {
    match &mention.user_id {
        Some(user) => user == me,
        None => mention.is_of_everybody(text),
    }
}

/// Returns true for a text that has a mark of a question outside of links, and looks like one.
fn is_question(text: &str) -> bool {
    let text = without_addresses(text);
    let marked = |word: &str| !word.contains("://") && MARKS.iter().any(|mark| word.contains(mark));
    text.split_whitespace().any(marked) && looks_like_question(&text)
}

/// Returns the hosts of the web links in a text.
fn hosts_in(text: &str) -> BTreeSet<String> {
    let urls = web_links(text).into_iter().filter_map(|link| Url::parse(&link.address).ok());
    urls.filter_map(|url| url.host_str().map(str::to_lowercase)).collect()
}

#[cfg(test)]
mod tests {
    use chatkeep_core::message::{EarlierTexts, MessageType};
    use chatkeep_core::pseudonym::PseudonymKey;
    use chatkeep_core::time::Timestamp;

    use super::*;

    /// Returns a text as it is examined, and the whole message.
    fn said(id: usize, text: &str) -> (NotedText, StoredMessage) {
        let key: DigestKey = ("C1".into(), format!("m{id}").as_str().into());
        let (content, sent_at) = (Content::text(text), Timestamp::from_millis(0));
        let message = StoredMessage {
            channel: key.0.clone(),
            id: key.1.clone(),
            sent_at,
            backed_up_at: sent_at,
            sender: None,
            kind: MessageType::Text,
            content: Some(content.clone()),
            bytes: 0,
            quoted: None,
            edited_at: None,
            unsent_at: None,
            is_bot: false,
            reply: None,
            earlier_texts: EarlierTexts::default(),
            media: None,
        };
        (NotedText { key, sent_at, sender: None, is_bot: false, content }, message)
    }

    #[test]
    fn readers_of_pseudonyms_see_no_host_that_names_anybody() {
        const ANN: &str = "U0123456789abcdef0123456789abcdef";
        let people = [
            ("U1".into(), Some("Octavia Ownersson".to_owned())),
            ("U2".into(), Some("王小明".to_owned())),
            (ANN.into(), None),
        ];
        let texts = [
            "https://octavia.example/x".to_owned(),
            "https://王小明.example/".to_owned(),
            format!("https://{ANN}.example/"),
            "see https://a.example/x, HTTPS://B.example and www.OCTAVIA.example/y".to_owned(),
        ];
        let (noted, messages): (Vec<_>, Vec<_>) =
            texts.iter().enumerate().map(|(id, text)| said(id, text)).unzip();
        let findings = Findings::new(&noted, &"U9".into());
        let hosts = |mask: &Mask| {
            let key = |one: &StoredMessage| (one.channel.clone(), one.id.clone());
            let shown = messages.iter().map(|one| (key(one), mask.show(one.clone()))).collect();
            let shown = findings.hosts_with(&shown, mask).into_iter();
            shown.map(|host| host.host).collect::<BTreeSet<_>>()
        };
        let (all, few) = (hosts(&Mask::none()), ["a.example", "b.example"].map(str::to_owned));
        assert_eq!(all.len(), 6, "{all:?}");
        assert!(all.contains("octavia.example") && all.is_superset(&few.clone().into()));
        assert_eq!(hosts(&Mask::of(&PseudonymKey::new([7; 32]), &people).unwrap()), few.into());
    }

    #[test]
    fn questions_need_a_mark_outside_of_links() {
        for question in [
            "where do we meet?",
            "看 https://a.example/x 好嗎",
            "明日は来ますか",
            "ไปไหม",
            "why? https://a.example",
        ] {
            assert!(is_question(question), "{question}");
        }
        for other in ["???", "where do we meet", "https://a.example/?q=1", "thanks", ""] {
            assert!(!is_question(other), "{other}");
        }
    }

    #[test]
    fn everybody_is_told_from_people_who_hide() {
        let me = UserId::from("U1");
        let mention = |user: Option<&str>, start, length, is_self| Mention {
            user_id: user.map(UserId::from),
            start,
            length,
            is_self,
            is_all: None,
        };
        // The emoji is two units long.
        let text = "👋 @All @Bo";
        assert!(means(text, &mention(None, 3, 4, false), &me));
        assert!(!means(text, &mention(None, 8, 3, false), &me));
        assert!(!means(text, &mention(None, 3, 4, true), &me), "the bot");
        assert!(means(text, &mention(Some("U1"), 8, 3, false), &me));
        assert!(!means(text, &mention(Some("U2"), 3, 4, false), &me));
        assert!(!means(text, &mention(None, 30, 9, false), &me));
    }

    #[test]
    fn links_are_counted_by_their_real_host() {
        let hosts = |text: &str| hosts_in(text).into_iter().collect::<Vec<_>>();
        assert_eq!(
            hosts("see HTTPS://A.example/x, http://b.example:80 and https://a.example"),
            ["a.example", "b.example"]
        );
        assert_eq!(hosts("https://bank.example@evil.example/"), ["evil.example"]);
        assert_eq!(
            hosts("看https://例え.jp/看看。ftp://c.example mailto:a@b.c"),
            ["xn--r8jz45g.jp"]
        );
    }
}
