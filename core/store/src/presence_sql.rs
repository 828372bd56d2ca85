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

/// Builds the condition that the bot is not in the chat of the row `$c` of `channels` any more: an
/// event from after its leave proves its presence as well as a join does.
macro_rules! bot_has_left {
    ($c:literal) => {
        concat!(
            "(",
            $c,
            ".disabled_at > 0 AND ",
            $c,
            ".disabled_at >= ",
            $c,
            ".enabled_at AND ",
            $c,
            ".disabled_at >= ",
            $c,
            ".resumed_at)"
        )
    };
}

pub(crate) use {bot_has_left, has_left, takes_part};
