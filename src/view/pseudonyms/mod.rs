//! People as a reader is shown them: as they are, or as stable stand-ins.
//!
//! A [`Mask`] belongs to the caller or webhook that something is shown to. Rows of the store that
//! name people leave the services as [`Masked`], which only a mask can make, and the views of every
//! surface take nothing else: so no surface can show a row that was not masked for its reader. Ids
//! are exchanged for stand-ins, and back, at the edge of the process ([`Mask::outgoing_json`],
//! [`Mask::incoming`]), in every string that passes, so that services work with one kind of id.

mod ids;
mod json;
#[cfg(test)]
mod json_tests;
#[cfg(test)]
mod law_tests;
mod links;
#[cfg(test)]
mod mail_tests;
mod mails;
mod masked;
#[cfg(test)]
mod name_tests;
mod names;
mod numbers;
mod plain;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use aho_corasick::BuildError;
use chatkeep_core::id::UserId;
use chatkeep_core::message::Mention;
use chatkeep_core::pseudonym::PseudonymKey;

use self::ids::{Ids, Way};
use self::json::JsonString;
use self::names::KnownNames;
use self::text::MaskedText;

pub use self::masked::Maskable;

/// Mask of people for one reader. Cheap to clone.
#[derive(Clone, Default)]
pub struct Mask(Option<Arc<KnownPeople>>);

/// Reason for which there is no mask for a reader.
#[derive(Debug, thiserror::Error)]
#[error("the names and ids of so many people cannot be searched for")]
pub struct MaskError(#[from] BuildError);

/// People whom the reader may come across, with their stand-ins.
struct KnownPeople {
    key: PseudonymKey,
    ids: Ids,
    names: KnownNames,
}

/// Row that is as its reader may see it.
#[derive(Clone, Debug)]
pub struct Masked<T>(T);

impl Mask {
    /// Creates the mask of readers who see people as they are.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Creates the mask of a reader of pseudonyms; `people` are those of all channels that they may
    /// read, with their names. It takes a while for many people.
    ///
    /// # Errors
    /// Returns an error for more people than can be searched for: without the mask nothing may be
    /// shown.
    pub fn of(key: &PseudonymKey, people: &[(UserId, Option<String>)]) -> Result<Self, MaskError> {
        let stand_ins: Vec<_> = people
            .iter()
            .filter_map(|(user, name)| Some((name.as_deref()?, key.person(user).name)))
            .collect();
        let names =
            KnownNames::new(stand_ins.iter().map(|(name, stand_in)| (*name, stand_in.as_str())))?;
        let ids = Ids::new(key.clone(), people)?;
        Ok(Self(Some(Arc::new(KnownPeople { key: key.clone(), ids, names }))))
    }

    /// Returns true if the reader sees pseudonyms.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Shows a row to the reader.
    pub fn show<T: Maskable>(&self, row: T) -> Masked<T> {
        Masked(if self.is_on() { row.masked(self) } else { row })
    }

    /// Shows rows to the reader.
    pub fn show_all<T: Maskable>(&self, rows: impl IntoIterator<Item = T>) -> Vec<Masked<T>> {
        rows.into_iter().map(|row| self.show(row)).collect()
    }

    /// Returns the name that the reader sees for a person.
    pub fn name(&self, user: &UserId, name: Option<String>) -> Option<String> {
        match &self.0 {
            Some(people) => Some(people.key.person(user).name),
            None => name,
        }
    }

    /// Returns the id by which the reader knows a person. The order of these says nothing about the
    /// people's own ids.
    pub fn id(&self, user: &UserId) -> String {
        match &self.0 {
            Some(people) => people.key.person(user).id,
            None => user.as_str().to_owned(),
        }
    }

    /// Returns true if the reader may come across a person of exactly that id, or sees people as
    /// they are.
    pub fn knows(&self, user: &UserId) -> bool {
        !self.is_on() || self.person(user.as_str()).is_some()
    }

    /// Returns the person of an id, if the reader may come across them.
    fn person(&self, id: &str) -> Option<UserId> {
        let people = self.0.as_ref()?;
        people.ids.person(id)
    }

    /// Returns a text of people as the reader sees it.
    pub fn text(&self, text: String) -> String {
        if self.is_on() { self.text_and_mentions(&text, &[]).text } else { text }
    }

    /// Returns a text without what identifies people, with its mentions where they are then.
    fn text_and_mentions(&self, text: &str, mentions: &[Mention]) -> MaskedText {
        let Some(people) = &self.0 else {
            return MaskedText { text: text.to_owned(), mentions: mentions.to_vec() };
        };
        let name = |mention: &Mention| Some(people.key.person(mention.user_id.as_ref()?).name);
        text::mask(text, mentions, (&people.ids.find(text), &people.names), name)
    }

    /// Returns a text that goes to the reader, with stand-ins in place of ids.
    pub fn outgoing<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.translate(Way::Out, text)
    }

    /// Returns a JSON document that goes to the reader, with stand-ins in place of ids.
    pub fn outgoing_json(&self, json: Vec<u8>) -> Vec<u8> {
        self.json(json, |_| Way::Out)
    }

    /// Returns a text that came from the reader, with ids in place of their stand-ins; ids
    /// themselves are nobody's there.
    pub fn incoming<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.translate(Way::In, text)
    }

    /// Returns a text that came from the reader and names nobody: it is kept, sent or shown as it is, and
    /// holds ids of nobody.
    pub fn note<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.translate(Way::Note, text)
    }

    /// Returns a JSON document that came from the reader. Values of the members for which `names_people` is
    /// true are treated as by [`Self::incoming`], all others, and names of members, as by [`Self::note`].
    pub fn incoming_json(&self, json: Vec<u8>, names_people: impl Fn(&str) -> bool) -> Vec<u8> {
        self.json(json, |place| match place {
            JsonString::Value(member) if names_people(member) => Way::In,
            JsonString::Value(_) | JsonString::Name => Way::Note,
        })
    }

    fn translate<'t>(&self, way: Way, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(people) => people.ids.translate(way, text),
            None => Cow::Borrowed(text),
        }
    }

    fn json(&self, json: Vec<u8>, way: impl Fn(JsonString<'_>) -> Way) -> Vec<u8> {
        if !self.is_on() {
            return json;
        }
        json::translated(&json, |place, text| match self.translate(way(place), text) {
            Cow::Owned(text) => Some(text),
            Cow::Borrowed(_) => None,
        })
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Mask(pseudonyms)" } else { "Mask(none)" })
    }
}

impl<T> Masked<T> {
    /// Returns the row, to be rendered.
    pub fn into_row(self) -> T {
        self.0
    }
}

impl<T> Deref for Masked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> AsRef<T> for Masked<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}
