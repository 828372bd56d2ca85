//! Every route, in one table: its handler says who may call it, what it takes and answers; the
//! text is for people.

use super::route::Tag::{
    Account, Assistant, Backup, Channels, Events, Keys, Media, Members, Messages,
};
use super::route::{Routes, text};
use super::{
    assistant, backup, channels, events, export, jobs, keys, me, media, members, messages, search,
    subscriptions, webhooks,
};

/// What searches find beside what was typed.
const RELATED: &str = "A question, and words that no message holds all of, also find related \
                       messages: those that hold some of them, behind those that hold all. \
                       `total` counts everything that is listed.";

/// All routes under `/api`.
pub(super) fn routes() -> Routes {
    let routes = account(Routes::default());
    let routes = assistant_routes(channel_routes(routes));
    key_routes(webhooks::routes(media_routes(backup_routes(routes))))
}

fn account(routes: Routes) -> Routes {
    routes
        .get("/me", me::me, text("get_me", Account, "The caller"))
        .get(
            "/usage",
            me::usage,
            text("get_usage", Account, "What the caller's channels use").more(
                "With a key that is bound to channels, only these channels and their sum.",
            ),
        )
        .get(
            "/me/notices",
            me::notices,
            text("get_notices", Account, "What the bot tells the caller in their own chat"),
        )
        .put(
            "/me/notices",
            me::set_notices,
            text("set_notices", Account, "Sets what the bot tells the caller in their own chat"),
        )
        .get("/channels", channels::list, text("list_channels", Channels, "The caller's channels").more("All of them, up to 1,000, unless `limit` says otherwise."))
        .get(
            "/subscriptions",
            subscriptions::list,
            text("list_subscriptions", Backup, "What is kept for the caller"),
        )
        .get(
            "/search",
            search::everywhere,
            text("search", Messages, "Searches every channel that the caller may read")
                .more(RELATED),
        )
        .get(
            "/events",
            events::list,
            text("list_events", Events, "What happened, in order").more(
                "Start without a cursor, go on with `nextCursor` for as long as `hasMore` is \
                 true, then ask again with it after a while. Each kind needs its scope: `message.*` \
                 `read:messages`, `member.*` `read:members`, `file.*` and `media.*` `read:media`, \
                 `endpoint.disabled` `manage:webhooks`; what is about the whole account is told to \
                 keys that are not bound to channels.",
            ),
        )
}

fn channel_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}",
            channels::detail,
            text("get_channel", Channels, "One channel with its settings and the caller's role"),
        )
        .get(
            "/channels/{channelId}/members",
            members::list,
            text("list_members", Members, "The people in a channel")
                .more("All of them, up to 1,000, unless `limit` says otherwise."),
        )
        .put(
            "/channels/{channelId}/members/{userId}/role",
            members::set_role,
            text("set_member_role", Members, "Changes a person's role").more(
                "An owner sets any of the roles for anyone but an owner; an admin may only raise a \
                 guest to member.",
            ),
        )
        .delete(
            "/channels/{channelId}/members/{userId}/data",
            members::erase,
            text("erase_member_data", Members, "Erases what a person wrote in a channel").more(
                "For the owner, or the person themself. No later import brings it back. Many \
                     messages take a while: then the answer is a job that goes on by itself.",
            ),
        )
}

fn assistant_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}/assistant/config",
            assistant::config::read,
            text("get_assistant_config", Assistant, "The assistant's switches"),
        )
        .put(
            "/channels/{channelId}/assistant/config",
            assistant::config::change,
            text("change_assistant_config", Assistant, "Changes switches; others stay"),
        )
        .get(
            "/channels/{channelId}/assistant/qa",
            assistant::qa::list,
            text("list_rules", Assistant, "The question-and-answer rules"),
        )
        .post(
            "/channels/{channelId}/assistant/qa",
            assistant::qa::add,
            text("add_rule", Assistant, "Adds a rule")
                .more("All rules of a channel together hold at most 8 MiB: `rules_too_large`."),
        )
        .put(
            "/channels/{channelId}/assistant/qa/{qaId}",
            assistant::qa::replace,
            text("replace_rule", Assistant, "Replaces a rule"),
        )
        .delete(
            "/channels/{channelId}/assistant/qa/{qaId}",
            assistant::qa::remove,
            text("remove_rule", Assistant, "Removes a rule"),
        )
        .get(
            "/channels/{channelId}/assistant/welcome",
            assistant::texts::welcome,
            text("get_welcome", Assistant, "The welcome message"),
        )
        .put(
            "/channels/{channelId}/assistant/welcome",
            assistant::texts::set_welcome,
            text("set_welcome", Assistant, "Sets the welcome message"),
        )
        .get(
            "/channels/{channelId}/assistant/rules",
            assistant::texts::rules,
            text("get_group_rules", Assistant, "The group rules"),
        )
        .put(
            "/channels/{channelId}/assistant/rules",
            assistant::texts::set_rules,
            text("set_group_rules", Assistant, "Sets the group rules"),
        )
        .post(
            "/channels/{channelId}/assistant/try",
            assistant::trial::attempt,
            text("try_assistant", Assistant, "What the assistant would say to a text")
                .more("Nothing is sent, and nothing is counted."),
        )
        .get(
            "/channels/{channelId}/assistant/unanswered",
            assistant::past::unanswered,
            text("list_unanswered", Assistant, "Frequent questions that no rule answers").more(
                "Looks at up to 20,000 of the newest kept messages of people, for up to 10 seconds; \
                 what looks like a question and is answered by no rule today is grouped by likeness.",
            ),
        )
        .post(
            "/channels/{channelId}/assistant/backtest",
            assistant::past::backtest,
            text("backtest_rules", Assistant, "What other rules or another mode would have said")
                .more(
                    "Looks at up to 20,000 of the newest kept messages of people, for up to 10 \
                     seconds, and compares with what was answered then.",
                ),
        )
}

fn backup_routes(routes: Routes) -> Routes {
    routes
        .post(
            "/channels/{channelId}/backup/subscribe",
            subscriptions::subscribe,
            text("subscribe", Backup, "Has the channel kept for the caller").more(
                "Whoever asks for it while the channel has no owner who is in it becomes its owner, \
                 also when they subscribe already.",
            ),
        )
        .delete(
            "/channels/{channelId}/backup/subscribe",
            subscriptions::unsubscribe,
            text("unsubscribe", Backup, "Ends it; what is kept stays")
                .more("Also for somebody who left the channel: it still counts for them."),
        )
        .put(
            "/channels/{channelId}/backup/config",
            channels::set_backup,
            text("set_backup_config", Backup, "Sets how the channel is kept"),
        )
        .get(
            "/channels/{channelId}/backup/coverage",
            backup::coverage,
            text("get_coverage", Backup, "What is kept of a channel, and what is missing"),
        )
        .get(
            "/channels/{channelId}/backup/messages",
            messages::list,
            text("list_messages", Messages, "The kept messages of a channel"),
        )
        .get(
            "/channels/{channelId}/backup/search",
            search::in_channel,
            text("search_channel", Messages, "Searches the kept messages of a channel")
                .more(RELATED),
        )
        .delete(
            "/channels/{channelId}/backup/messages",
            backup::delete,
            text("delete_messages", Backup, "Deletes what was sent before a time").more(
                "Many messages take a while: then the answer is a job that goes on by itself.",
            ),
        )
        .get(
            "/channels/{channelId}/jobs/{jobId}",
            jobs::read,
            text("get_job", Backup, "How far a removal is").more(
                "For the owner, and for the person whose messages are erased. A finished job can \
                 be asked for 30 days.",
            ),
        )
        .get(
            "/channels/{channelId}/backup/export",
            export::messages,
            text("export_messages", Messages, "A channel's messages as one document"),
        )
        .get(
            "/channels/{channelId}/backup/messages/{messageId}",
            messages::one,
            text("get_message", Messages, "One kept message"),
        )
}

fn media_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}/backup/media",
            media::list,
            text("list_media", Media, "The media files of a channel"),
        )
        .get(
            "/channels/{channelId}/backup/media/{messageId}",
            media::file,
            text("get_media", Media, "A media file").more(
                "Takes `Range`, `If-Range` and `If-None-Match`; the `ETag` is the file's SHA-256. \
                 A file that is not there is 404, and `code` says why: `media_pending`, \
                 `media_skipped`, `media_failed`, `media_expired`, `media_erased`, \
                 `media_missing`, `no_preview`.",
            ),
        )
}

fn key_routes(routes: Routes) -> Routes {
    routes
        .get("/keys", keys::list, text("list_keys", Keys, "The caller's API keys"))
        .post("/keys", keys::make, text("create_key", Keys, "Makes a key and shows it once"))
        .post(
            "/keys/{keyId}/rotate",
            keys::rotate,
            text("rotate_key", Keys, "Replaces a key; the old one works on for a while"),
        )
        .delete("/keys/{keyId}", keys::remove, text("delete_key", Keys, "Deletes a key"))
}
