//! Succession of a channel's owners, as a pure function of joins and leaves.

use std::time::Duration;

/// Maximum clock skew: our clock may be this much behind the platform's.
pub(super) const SKEW: Duration = Duration::from_mins(1);

/// Tenure of a bot in a channel. Times are milliseconds since the epoch by the platform's clock; 0
/// for never.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tenure {
    pub(super) bot: String,
    pub(super) joined_at: i64,
    pub(super) left_at: i64,
    /// Time of receipt until which its events count although it no longer owns the channel.
    pub(super) owned_until: i64,
}

impl Tenure {
    /// Returns `true` if the bot is in the channel. In the same millisecond the leave counts.
    pub(super) const fn is_present(&self) -> bool {
        self.left_at == 0 || self.left_at < self.joined_at
    }
}

/// Returns the owners of a channel from `owner` to the present one, in order. It passes from a bot
/// that left to the one that joined next. A bot without a known tenure is in.
pub(super) fn succession(owner: &str, known: &[Tenure]) -> Vec<Tenure> {
    let nothing = || Tenure { bot: owner.to_owned(), joined_at: 0, left_at: 0, owned_until: 0 };
    let first = known.iter().find(|tenure| tenure.bot == owner).cloned();
    let mut owners = vec![first.unwrap_or_else(nothing)];
    while let Some(last) = owners.last().filter(|last| !last.is_present()) {
        // Ever later joins, so that this ends.
        let order = |tenure: &Tenure| (tenure.joined_at, tenure.bot.clone());
        let heirs =
            known.iter().filter(|heir| heir.joined_at >= last.left_at && order(heir) > order(last));
        match heirs.min_by_key(|heir| order(heir)).cloned() {
            Some(heir) => owners.push(heir),
            None => break,
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenure(bot: &str, joined_at: i64, left_at: i64) -> Tenure {
        Tenure { bot: bot.to_owned(), joined_at, left_at, owned_until: 0 }
    }

    fn owner(first: &str, known: &[Tenure]) -> String {
        succession(first, known).pop().unwrap().bot
    }

    #[test]
    fn a_channel_goes_on_only_from_a_bot_that_left() {
        let forged = tenure("b", 50, 0);
        assert_eq!(owner("a", &[tenure("a", 10, 0), forged.clone()]), "a");
        assert_eq!(owner("a", &[tenure("a", 10, 5), forged.clone()]), "a", "it came back");
        assert_eq!(owner("a", &[tenure("a", 10, 60), forged.clone()]), "a", "joined before that");
        assert_eq!(owner("a", &[tenure("a", 10, 40), forged.clone()]), "b");
        assert_eq!(owner("a", &[tenure("a", 0, 50), forged]), "b", "the same millisecond");
        assert_eq!(owner("a", &[]), "a");
    }

    #[test]
    fn the_next_to_join_has_it_until_it_leaves() {
        let known = [tenure("a", 1, 10), tenure("b", 20, 0), tenure("c", 30, 0)];
        assert_eq!(owner("a", &known), "b", "not the last, who joined while b was in");
        let known = [tenure("a", 1, 10), tenure("b", 20, 25), tenure("c", 30, 0)];
        assert_eq!(owner("a", &known), "c");
        let same = [tenure("a", 10, 10), tenure("b", 10, 10)];
        assert_eq!(owner("a", &same), "b");
        assert_eq!(owner("b", &same), "b", "it ends");
    }
}
