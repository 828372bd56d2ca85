//! Owner of a bus that many processes share: the database whose processes handle its events. A process
//! with another database would take its share of them, and nobody would see what it took.

use crate::BusError;

/// First word of the text that names an owner.
const MARK: &str = "chatkeep";

/// Database to which the events of a bus belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusOwner {
    /// Id of the database; copies have the same one.
    pub database: String,
    /// Time of the last restoration, in milliseconds since 1970; 0 for a database that was not restored.
    /// It tells a copy from the database that was restored from it.
    pub restored_at: i64,
}

impl BusOwner {
    /// Returns the text by which a bus names its owner.
    pub(crate) fn text(&self) -> String {
        format!("{MARK} {} {}", self.database, self.restored_at)
    }

    /// Parses such a text; `None` for one of somebody else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() != Some(MARK) {
            return None;
        }
        let (database, restored_at) = (words.next()?, words.next()?.parse().ok()?);
        words.next().is_none().then(|| Self { database: database.to_owned(), restored_at })
    }

    /// Checks that a bus of this owner may be used by the processes of `other`: those of the same
    /// database, restored since or not.
    ///
    /// # Errors
    /// [`BusError::Foreign`] for another database, or an earlier state of the same one.
    pub(crate) fn admit(&self, other: &Self) -> Result<(), BusError> {
        let reason = if self.database != other.database {
            "to another database"
        } else if self.restored_at > other.restored_at {
            "to a database that was restored from this one"
        } else {
            return Ok(());
        };
        Err(BusError::Foreign(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(database: &str, restored_at: i64) -> BusOwner {
        BusOwner { database: database.to_owned(), restored_at }
    }

    #[test]
    fn its_text_is_parsed() {
        let known = owner("0123abcd", 1_800_000_000_000);
        assert_eq!(BusOwner::parse(&known.text()), Some(known));
        for other in ["", "chatkeep", "chatkeep a", "chatkeep a b", "chatkeep a 1 2", "other a 1"] {
            assert_eq!(BusOwner::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_same_database_and_later_states_of_it_are_admitted() {
        let known = owner("a", 5);
        for (other, is_admitted) in [
            (owner("a", 5), true),
            (owner("a", 6), true),
            (owner("a", 0), false),
            (owner("b", 9), false),
        ] {
            assert_eq!(known.admit(&other).is_ok(), is_admitted, "{other:?}");
        }
    }
}
