//! Formatting of an error and its causes as one sentence.

use std::error::Error;

/// Returns an error's message followed by those of its causes, each once: libraries often repeat
/// their cause in their own message.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let own = next.to_string();
        if !text.contains(&own) {
            text.push_str(": ");
            text.push_str(&own);
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn a_cause_that_is_repeated_is_told_once() {
        let link = |text, source: Option<Link>| Link { text, source: source.map(Box::new) };
        let refused = link("wrong password", None);
        let database = link("the server says: wrong password", Some(refused));
        let whole = link("cannot open the database", Some(database));
        let text = "cannot open the database: the server says: wrong password";
        assert_eq!(with_causes(&whole), text);
    }
}
