//! Conditions of statements on who is in a channel: one rule, wherever the database applies it.

/// Builds the condition that the person of the row `$m` of `members` is not in the channel any more.
macro_rules! has_left {
    ($m:literal) => {
        concat!(
            "(",
            $m,
            ".left_at > 0 AND ",
            $m,
            ".left_at >= ",
            $m,
            ".joined_at AND ",
            $m,
            ".left_at >= ",
            $m,
            ".last_seen_at)"
        )
    };
}

/// Builds the condition that the person of the row `$m` of `members` is in the channel and more than
/// a guest: whoever may read it.
macro_rules! takes_part {
    ($m:literal) => {
        concat!($m, ".role <> 'guest' AND NOT ", $crate::presence_sql::has_left!($m))
    };
}

pub(crate) use {has_left, takes_part};
