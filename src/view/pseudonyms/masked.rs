//! Rows of the store as a reader of pseudonyms sees them. Ids stay: they are exchanged at the edge.

use std::cmp::Reverse;

use chatkeep_core::assistant::{AssistantConfig, QaConfig, TriggerConfig, WelcomeConfig};
use chatkeep_core::event::ChannelKind;
use chatkeep_core::message::{Content, EarlierText, EarlierTexts, MediaInfo, Sticker};
use chatkeep_store::{
    ActivityPerson, Channel, ChannelName, MediaItem, MediaRecord, Member, MemberMove, PeopleCounts,
    Sender, StoredMessage, User,
};

use super::Mask;

/// Stands for the name of a file; its ending stays.
const FILE: &str = "file";
/// Maximum length of the ending of a file's name.
const ENDING: usize = 5;
/// Content of a message of a type that is not known, which may hold anything.
const NOTHING: &str = "{}";

/// Row that can be masked.
pub trait Maskable: Sized {
    /// Returns the row without what identifies people.
    #[must_use]
    fn masked(self, mask: &Mask) -> Self;
}

impl Maskable for StoredMessage {
    fn masked(self, mask: &Mask) -> Self {
        Self {
            sender: self.sender.map(|sender| sender.masked(mask)),
            content: self.content.map(|content| content.masked(mask)),
            media: self.media.map(|media| media.masked(mask)),
            earlier_texts: self.earlier_texts.masked(mask),
            ..self
        }
    }
}

/// A text that cannot be read cannot be masked either, and is left out.
impl Maskable for EarlierTexts {
    fn masked(self, mask: &Mask) -> Self {
        let masked = |text: EarlierText| {
            let content = serde_json::to_string(&text.parsed()?.masked(mask)).ok()?;
            Some(EarlierText { content, ..text })
        };
        self.into_iter().filter_map(masked).collect()
    }
}

impl Maskable for Sender {
    fn masked(self, mask: &Mask) -> Self {
        let display_name = mask.name(&self.id, self.display_name);
        Self { id: self.id, display_name, picture_url: None }
    }
}

impl Maskable for Member {
    fn masked(self, mask: &Mask) -> Self {
        let display_name = mask.name(&self.user, self.display_name);
        Self { display_name, picture_url: None, ..self }
    }
}

impl Maskable for ActivityPerson {
    fn masked(self, mask: &Mask) -> Self {
        let display_name = match &self.user {
            Some(user) => mask.name(user, self.display_name),
            None => None,
        };
        Self { display_name, picture_url: None, ..self }
    }
}

/// People with as many messages are in the order of their stand-ins: that of their own ids would tell
/// who is who.
impl Maskable for PeopleCounts {
    fn masked(self, mask: &Mask) -> Self {
        let mut people: Vec<_> =
            self.people.into_iter().map(|person| person.masked(mask)).collect();
        people.sort_by_cached_key(|person| {
            (Reverse(person.messages), person.user.as_ref().map(|user| mask.id(user)))
        });
        Self { people, ..self }
    }
}

impl Maskable for MemberMove {
    fn masked(self, mask: &Mask) -> Self {
        Self { user: self.user.masked(mask), ..self }
    }
}

impl Maskable for User {
    fn masked(self, mask: &Mask) -> Self {
        let display_name = mask.name(&self.id, self.display_name);
        Self { display_name, picture_url: None, ..self }
    }
}

/// The channel of one person has that person's id, name and picture.
impl Maskable for Channel {
    fn masked(self, mask: &Mask) -> Self {
        let name = match self.kind {
            ChannelKind::User => mask.name(&self.id.on_platform().into(), self.name),
            ChannelKind::Group | ChannelKind::Room => self.name.map(|name| mask.text(name)),
        };
        Self { name, picture_url: None, ..self }
    }
}

impl Maskable for ChannelName {
    fn masked(self, mask: &Mask) -> Self {
        let name = match mask.person(self.id.on_platform()) {
            Some(person) => mask.name(&person, self.name),
            None => self.name.map(|name| mask.text(name)),
        };
        Self { name, ..self }
    }
}

impl Maskable for MediaItem {
    fn masked(self, mask: &Mask) -> Self {
        Self { record: self.record.masked(mask), info: self.info.masked(mask), ..self }
    }
}

/// The digest of a file would tell which file it is.
impl Maskable for MediaRecord {
    fn masked(self, _: &Mask) -> Self {
        Self { blob: None, ..self }
    }
}

impl Maskable for Content {
    fn masked(self, mask: &Mask) -> Self {
        let optional = |text: Option<String>| text.map(|text| mask.text(text));
        match self {
            Self::Text { text, mentions, .. } => {
                let masked = mask.text_and_mentions(&text, &mentions);
                // Their places in the text are others now.
                let emojis = Vec::new();
                Self::Text { text: masked.text, emojis, mentions: masked.mentions }
            }
            Self::Image(media) => Self::Image(media.masked(mask)),
            Self::Video(media) => Self::Video(media.masked(mask)),
            Self::Audio(media) => Self::Audio(media.masked(mask)),
            Self::File(media) => Self::File(media.masked(mask)),
            Self::Location { title, address, latitude, longitude } => Self::Location {
                title: optional(title),
                address: optional(address),
                latitude,
                longitude,
            },
            Self::Sticker(sticker) => Self::Sticker(Sticker {
                text: optional(sticker.text),
                keywords: sticker.keywords.into_iter().map(|word| mask.text(word)).collect(),
                ..sticker
            }),
            Self::Other { .. } => Self::Other { raw: NOTHING.to_owned() },
        }
    }
}

/// Texts of administrators may name people as well as any message.
impl Maskable for AssistantConfig {
    fn masked(self, mask: &Mask) -> Self {
        let words = |config: TriggerConfig| {
            let words = config.trigger_keywords.into_iter().map(|word| mask.text(word));
            TriggerConfig { trigger_keywords: words.collect(), ..config }
        };
        let no_match_reply = self.qa.no_match_reply.map(|text| mask.text(text));
        let message = mask.text(self.welcome.message);
        Self {
            enabled: self.enabled,
            qa: QaConfig { no_match_reply, ..self.qa },
            welcome: WelcomeConfig { message, ..self.welcome },
            rules: words(self.rules),
            link: words(self.link),
        }
    }
}

impl Maskable for MediaInfo {
    fn masked(self, _: &Mask) -> Self {
        let file_name = self.file_name.map(|name| masked_file(&name));
        Self { file_name, original_url: None, preview_url: None, ..self }
    }
}

fn masked_file(name: &str) -> String {
    let is_ending = |ending: &&str| {
        (1..=ENDING).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(is_ending);
    ending.map_or_else(|| FILE.to_owned(), |ending| format!("{FILE}.{ending}"))
}

#[cfg(test)]
mod tests {
    use chatkeep_core::id::UserId;
    use chatkeep_core::pseudonym::PseudonymKey;
    use chatkeep_core::time::Timestamp;

    use super::*;

    #[test]
    fn people_with_as_many_messages_are_in_no_order_of_their_ids() {
        let users: Vec<_> = (0..30).map(|number| UserId::new(format!("U{number:02}"))).collect();
        let known: Vec<_> = users.iter().map(|user| (user.clone(), None)).collect();
        let mask = Mask::of(&PseudonymKey::new([5; 32]), &known).unwrap();
        let person = |user: &UserId| ActivityPerson {
            user: Some(user.clone()),
            is_bot: false,
            display_name: None,
            picture_url: None,
            messages: if user.as_str() == "U00" { 9 } else { 7 },
        };
        let people = users.iter().map(person).collect();
        let counts = PeopleCounts { since: Timestamp::from_millis(0), total: 30, people };
        let shown = counts.masked(&mask).people;
        let ids: Vec<_> = shown.iter().map(|one| mask.id(one.user.as_ref().unwrap())).collect();
        assert_eq!(shown[0].messages, 9, "the most first");
        assert!(ids[1..].is_sorted() && !shown.is_sorted_by_key(|one| one.user.clone()));
    }
}
