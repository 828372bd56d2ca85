//! Checks of what callers write: the limits of texts, keywords and ids.

use std::collections::HashSet;

use chatkeep_core::assistant::limits;
use chatkeep_core::id::{ChannelId, UntrustedId};
use chatkeep_index::{fold_phrase, is_blank, length_up_to};

use super::{Defect, FieldPath, ServiceError};

/// Maximum characters of a channel ID from a caller.
const CHANNEL: usize = 100;

/// Number of keywords that are looked at for each that may be: some of them may be the same.
const SPARE: usize = 20;

/// Checks a text's length in characters (Unicode scalar values after NFC), that one that must not be
/// empty can be seen, and that it has no U+0000, which no database stores.
pub(super) fn text(
    field: FieldPath,
    given: String,
    min: usize,
    max: usize,
) -> Result<String, ServiceError> {
    check_storable(&field, &given)?;
    let too_long = |field| ServiceError::defective(field, Defect::TooLong { max });
    let Some(length) = length_up_to(&given, max) else { return Err(too_long(field)) };
    if length < min || (min > 0 && is_blank(&given)) {
        return Err(ServiceError::defective(field, Defect::Empty));
    }
    Ok(given)
}

/// Rejects U+0000, also where no decoder has: forms of the console, and the command line.
pub(super) fn check_storable(field: &FieldPath, given: &str) -> Result<(), ServiceError> {
    if given.contains('\0') {
        return Err(ServiceError::invalid_value(field.clone(), "contains U+0000"));
    }
    Ok(())
}

/// Checks channel IDs from a caller: at most `max`, each of at most 100 characters and valid for
/// some platform. Repeated ones collapse.
pub(super) fn channel_ids(
    field: &FieldPath,
    given: Vec<String>,
    max: usize,
) -> Result<Vec<ChannelId>, ServiceError> {
    if given.len() > max {
        let why = format_args!("contains more than {max} channels");
        return Err(ServiceError::invalid_value(field.clone(), why));
    }
    let mut ids: Vec<ChannelId> = Vec::with_capacity(given.len());
    let mut seen = HashSet::with_capacity(given.len());
    for (index, id) in given.into_iter().enumerate() {
        let id = channel_id(field.clone().item(index), id)?;
        if seen.insert(id.clone()) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn channel_id(field: FieldPath, given: String) -> Result<ChannelId, ServiceError> {
    if given.chars().count() > CHANNEL {
        let why = format_args!("is longer than {CHANNEL} characters");
        return Err(ServiceError::invalid_value(field, why));
    }
    if given.chars().any(char::is_whitespace) {
        return Err(ServiceError::invalid_value(
            field,
            "contains white space, which is not allowed in an ID",
        ));
    }
    let id: Result<ChannelId, _> = UntrustedId::new(given).checked();
    let id = id.map_err(|why| {
        ServiceError::invalid_value(field.clone(), format_args!("is not a valid ID: {why}"))
    })?;
    if !id.is_possible() {
        let why =
            "is not a channel ID: it must begin with C, R or U, or with a platform's name and `:`";
        return Err(ServiceError::invalid_value(field, why));
    }
    Ok(id)
}

/// Checks keywords: how long, none empty, how many; those that match the same messages collapse to
/// the first as it was typed, before they are counted. However many are given, the work is bounded.
pub(super) fn keywords(
    field: FieldPath,
    given: Vec<String>,
    min: usize,
    max: usize,
) -> Result<Vec<String>, ServiceError> {
    let rule = PhraseRule {
        longest: limits::KEYWORD,
        max,
        too_many: Defect::TooManyKeywords { max },
        excluded: &HashSet::new(),
    };
    let checked = phrases(field.clone(), given, &rule)?;
    if checked.len() < min {
        return Err(ServiceError::defective(field, Defect::TooFewKeywords { min }));
    }
    Ok(checked)
}

/// Checks the texts that a rule must not answer, as keywords are checked; none may be one of its
/// `keywords`.
pub(super) fn not_for(
    field: FieldPath,
    given: Vec<String>,
    keywords: &[String],
) -> Result<Vec<String>, ServiceError> {
    let rule = PhraseRule {
        longest: limits::NOT_FOR_TEXT,
        max: limits::NOT_FOR,
        too_many: Defect::TooManyTexts { max: limits::NOT_FOR },
        excluded: &keywords.iter().map(|keyword| fold_phrase(keyword)).collect(),
    };
    phrases(field, given, &rule)
}

/// Rule of a list of phrases.
struct PhraseRule<'a> {
    /// Maximum characters of each.
    longest: usize,
    /// Maximum number of them.
    max: usize,
    /// Defect of more than that.
    too_many: Defect,
    /// Folded keywords, none of which may be among them.
    excluded: &'a HashSet<String>,
}

/// Checks phrases by a rule.
fn phrases(
    field: FieldPath,
    given: Vec<String>,
    rule: &PhraseRule<'_>,
) -> Result<Vec<String>, ServiceError> {
    let PhraseRule { longest, max, too_many, excluded } = rule;
    let (longest, max) = (*longest, *max);
    let too_many = |field| Err(ServiceError::defective(field, *too_many));
    if given.len() > max.saturating_mul(SPARE) {
        return too_many(field);
    }
    let mut seen = HashSet::with_capacity(max);
    let mut checked: Vec<String> = Vec::with_capacity(max);
    for (index, keyword) in given.into_iter().enumerate() {
        let keyword = text(field.clone().item(index), keyword, 1, longest)?;
        let keyword = keyword.trim();
        let folded = fold_phrase(keyword);
        // What cannot be seen matches nothing.
        if folded.is_empty() {
            return Err(ServiceError::defective(field.item(index), Defect::Empty));
        }
        if excluded.contains(&folded) {
            return Err(ServiceError::defective(field.item(index), Defect::IsKeyword));
        }
        if !seen.insert(folded) {
            continue;
        }
        if checked.len() == max {
            return too_many(field);
        }
        checked.push(keyword.to_owned());
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYWORDS: FieldPath = FieldPath::body("/keywords");
    const TEXT: FieldPath = FieldPath::body("/text");

    fn many(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("word {n}")).collect()
    }

    #[test]
    fn duplicates_collapse_and_limits_hold() {
        let given = ["a", "b ", "a", " b"].map(str::to_owned).to_vec();
        assert_eq!(keywords(KEYWORDS, given, 1, 50).unwrap(), ["a", "b"]);
        assert_eq!(keywords(KEYWORDS, many(50), 1, 50).unwrap().len(), 50);
        assert!(keywords(KEYWORDS, many(51), 1, 50).is_err());
        assert!(keywords(KEYWORDS, Vec::new(), 1, 50).is_err());
        let given = ["a", " "].map(str::to_owned).to_vec();
        let ServiceError::Invalid { field, why, .. } =
            keywords(KEYWORDS, given, 1, 50).unwrap_err()
        else {
            panic!("refused otherwise");
        };
        assert_eq!(field, Some(KEYWORDS.item(1)));
        assert_eq!(why, "keywords[1] must not be empty");
    }

    #[test]
    fn keywords_that_match_the_same_collapse_before_they_are_counted() {
        let given = ["Hours", "hours", "ＨＯＵＲＳ", "hours?", "opening  hours", "Opening hours!"];
        let kept = keywords(KEYWORDS, given.map(str::to_owned).to_vec(), 1, 50).unwrap();
        assert_eq!(kept, ["Hours", "opening  hours"], "the first is kept as it was typed");
        let twice = |count| {
            let words = many(count).into_iter();
            words.flat_map(|word| [word.to_uppercase(), word]).collect::<Vec<_>>()
        };
        let kept = keywords(KEYWORDS, twice(50), 1, 50).unwrap();
        assert_eq!((kept.len(), kept[49].as_str()), (50, "WORD 49"));
        let ServiceError::Invalid { why, .. } = keywords(KEYWORDS, twice(51), 1, 50).unwrap_err()
        else {
            panic!("refused otherwise");
        };
        assert_eq!(why, "keywords contains more than 50 keywords");
    }

    #[test]
    fn keywords_can_be_seen() {
        for unseen in ["\u{200b}", "\u{200d}\u{2060}", "\u{ad}"] {
            let given = vec!["a".to_owned(), unseen.to_owned()];
            let refused = keywords(KEYWORDS, given, 1, 50).unwrap_err();
            assert!(matches!(refused, ServiceError::Invalid { .. }), "{unseen:?}");
        }
        let marks = ["?!", "👍", "…"].map(str::to_owned).to_vec();
        assert_eq!(keywords(KEYWORDS, marks, 1, 50).unwrap().len(), 3);
    }

    #[test]
    fn too_many_keywords_are_refused_before_any_is_looked_at() {
        // The first one alone would be refused, too, and for another reason.
        let mut given = many(100_000);
        given[0] = "x".repeat(101);
        let ServiceError::Invalid { why, .. } = keywords(KEYWORDS, given, 1, 50).unwrap_err()
        else {
            panic!("refused otherwise");
        };
        assert_eq!(why, "keywords contains more than 50 keywords");
    }

    #[test]
    fn characters_count_as_they_are_composed() {
        // Four characters become one.
        let composed = "\u{3b1}\u{313}\u{300}\u{345}";
        assert!(text(TEXT, composed.repeat(10), 1, 10).is_ok());
        assert!(text(TEXT, composed.repeat(11), 1, 10).is_err());
        assert!(text(TEXT, "x".repeat(1_000_000), 1, 10).is_err());
        assert!(text(TEXT, "a\0".to_owned(), 1, 10).is_err(), "nothing is left out silently");
    }
}
