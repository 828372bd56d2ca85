//! Earlier texts of an edited message.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Content;
use crate::time::Timestamp;

/// Content that a message had before it was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierText {
    /// Time at which it was written: that of the edit, or of the sending.
    pub at: Timestamp,
    /// The content as stored JSON.
    pub content: String,
}

/// Earlier texts of a message: the newest [`EarlierTexts::MOST`] of them, oldest first, one of each
/// time. They are stored as one JSON list, whose UTF-8 length is their size in the quota usage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierTexts(Vec<EarlierText>);

/// Element of the stored list.
#[derive(Serialize, Deserialize)]
struct StoredText {
    /// Milliseconds since the Unix epoch.
    at: i64,
    content: Box<RawValue>,
}

impl EarlierText {
    /// Parses the content; `None` if this version does not know it.
    pub fn parsed(&self) -> Option<Content> {
        serde_json::from_str(&self.content).ok()
    }
}

impl EarlierTexts {
    /// Maximum number of earlier texts of a message.
    pub const MOST: usize = 20;

    /// Adds a text, unless newer ones leave no room for it; of several of one time the greatest
    /// stays. Returns whether anything changed. The order of additions does not matter.
    pub fn add(&mut self, at: Timestamp, content: &str) -> bool {
        match self.0.binary_search_by_key(&at, |text| text.at) {
            Ok(nth) if self.0[nth].content.as_str() < content => {
                content.clone_into(&mut self.0[nth].content);
                true
            }
            Ok(_) => false,
            Err(0) if self.0.len() >= Self::MOST => false,
            Err(nth) => {
                self.0.insert(nth, EarlierText { at, content: content.to_owned() });
                self.0.drain(..self.0.len().saturating_sub(Self::MOST));
                true
            }
        }
    }

    /// Returns `true` if there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns them, oldest first.
    pub fn as_slice(&self) -> &[EarlierText] {
        &self.0
    }

    /// Returns the list as it is stored; `None` if it is empty.
    pub fn to_json(&self) -> Option<String> {
        let texts = self.0.iter().map(|EarlierText { at, content }| {
            format!(r#"{{"at":{},"content":{content}}}"#, at.millis())
        });
        (!self.is_empty()).then(|| format!("[{}]", texts.collect::<Vec<_>>().join(",")))
    }

    /// Returns their size in the quota usage.
    pub fn bytes(&self) -> i64 {
        self.to_json().map_or(0, |json| i64::try_from(json.len()).unwrap_or(i64::MAX))
    }

    /// Parses a stored list.
    ///
    /// # Errors
    /// Returns an error if it is none.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let texts: Vec<StoredText> = serde_json::from_str(json)?;
        Ok(texts.into_iter().map(EarlierText::from).collect())
    }
}

impl From<StoredText> for EarlierText {
    fn from(text: StoredText) -> Self {
        Self {
            at: Timestamp::from_millis(text.at),
            content: Box::<str>::from(text.content).into_string(),
        }
    }
}

impl FromIterator<EarlierText> for EarlierTexts {
    fn from_iter<I: IntoIterator<Item = EarlierText>>(texts: I) -> Self {
        let mut all = Self::default();
        for EarlierText { at, content } in texts {
            all.add(at, &content);
        }
        all
    }
}

impl IntoIterator for EarlierTexts {
    type Item = EarlierText;
    type IntoIter = std::vec::IntoIter<EarlierText>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
#[path = "earlier_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_list_is_read_as_it_was() {
        let text = |millis, text: &str| EarlierText {
            at: Timestamp::from_millis(millis),
            content: serde_json::to_string(&Content::text(text)).unwrap(),
        };
        let texts: EarlierTexts =
            [text(2, "a \"b\"\n\u{1F600} \\"), text(1, "[]},{"), text(-5, "")]
                .into_iter()
                .collect();
        let json = texts.to_json().unwrap();
        assert_eq!(EarlierTexts::parse(&json).unwrap(), texts);
        assert_eq!(usize::try_from(texts.bytes()).unwrap(), json.len());
        assert_eq!(texts.as_slice()[0].at.millis(), -5);
        assert_eq!(EarlierTexts::default().to_json(), None);
        assert!(EarlierTexts::parse("{}").is_err());
    }
}
