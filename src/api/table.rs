//! Table of all routes: the handler's signature defines permissions, input and output; the text
//! is the documentation.

use super::route::Tag::{
    Account, Assistant, Backup, Channels, Events, Keys, Media, Members, Messages,
};
use super::route::{Routes, text};
use super::{
    assistant, backup, channels, events, export, export_jobs, jobs, keys, me, media, members,
    messages, saved_searches, search, subscriptions, webhooks,
};

/// Description of related messages in search results.
const RELATED: &str = "When the query is a question, or no message contains all of its words, related \
                       messages follow: those that contain some of the words. `total` includes \
                       them.";

/// Returns all routes under `/api`.
pub(super) fn routes() -> Routes {
    let routes = account(Routes::default());
    let routes = assistant_routes(channel_routes(routes));
    let routes = export_routes(backup_routes(routes));
    key_routes(webhooks::routes(media_routes(saved_search_routes(routes))))
}

fn account(routes: Routes) -> Routes {
    routes
        .get("/me", me::me, text("get_me", Account, "Get the caller"))
        .get(
            "/usage",
            me::usage,
            text("get_usage", Account, "Get the caller's usage").more(
                "The quota is the user's: with a key that is restricted to channels, only \
                 `channels` is limited to these.",
            ),
        )
        .get(
            "/me/notices",
            me::notices,
            text("get_notices", Account, "Get the caller's notification settings"),
        )
        .put(
            "/me/notices",
            me::set_notices,
            text("set_notices", Account, "Set the caller's notification settings"),
        )
        .put(
            "/me/channels/{channelId}/backup",
            me::set_own_backup,
            text("set_own_backup", Account, "Opt out of the backup of a channel, or in again").more(
                "From then on nothing that the caller writes there is stored, searchable or sent to \
                 webhooks; only their number per day is recorded. What was stored before stays until \
                 it is erased. Allowed for everyone who is or was in the channel, whatever their \
                 role.",
            ),
        )
        .get(
            "/channels",
            channels::list,
            text("list_channels", Channels, "List the caller's channels")
                .more("Returns all channels, up to 1,000, unless `limit` is given."),
        )
        .get(
            "/subscriptions",
            subscriptions::list,
            text("list_subscriptions", Backup, "List the caller's backup subscriptions"),
        )
        .get(
            "/search",
            search::everywhere,
            text("search", Messages, "Search all channels that the caller may read").more(RELATED),
        )
        .get(
            "/events",
            events::list,
            text("list_events", Events, "List events in order").more(
                "Start without a cursor, or with `latest` for what happens from now on; continue \
                 with `nextCursor` while `hasMore` is true, also after an empty page, then poll \
                 with the last one at intervals. When events after a cursor are not retained any \
                 more, the response is 410. Each type requires a scope: `message.*`, `search.*` \
                 and `import.*` `read:messages`, `member.*` `read:members`, `file.*` and \
                 `media.*` `read:media`, `endpoint.disabled` `manage:webhooks`. Events about the \
                 whole account are returned only to keys that are not restricted to channels.",
            ),
        )
}

fn channel_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}",
            channels::detail,
            text("get_channel", Channels, "Get a channel with its settings and the caller's role"),
        )
        .get(
            "/channels/{channelId}/members",
            members::list,
            text("list_members", Members, "List the members of a channel")
                .more("Returns all members, up to 1,000, unless `limit` is given."),
        )
        .put(
            "/channels/{channelId}/members/{userId}/role",
            members::set_role,
            text("set_member_role", Members, "Change a member's role").more(
                "An owner sets any of the roles for anyone except an owner; an admin may only \
                 promote a guest to member.",
            ),
        )
        .delete(
            "/channels/{channelId}/members/{userId}/data",
            members::erase,
            text("erase_member_data", Members, "Erase a person's messages in a channel").more(
                "Allowed for the owner and for the person themself. Later imports do not restore \
                 the messages. When there are many messages, the response is a job that continues \
                 in the background.",
            ),
        )
}

fn assistant_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}/assistant/config",
            assistant::config::read,
            text("get_assistant_config", Assistant, "Get the assistant's settings"),
        )
        .put(
            "/channels/{channelId}/assistant/config",
            assistant::config::change,
            text("update_assistant_config", Assistant, "Change the assistant's settings")
                .more("Absent fields are unchanged."),
        )
        .get(
            "/channels/{channelId}/assistant/qa",
            assistant::qa::list,
            text("list_rules", Assistant, "List question-and-answer rules"),
        )
        .post(
            "/channels/{channelId}/assistant/qa",
            assistant::qa::add,
            text("create_rule", Assistant, "Create a question-and-answer rule").more(
                "A channel can have at most 10,000 rules (`too_many_rules`), of 8 MiB together \
                     (`rules_too_large`).",
            ),
        )
        .put(
            "/channels/{channelId}/assistant/qa/{qaId}",
            assistant::qa::replace,
            text("update_rule", Assistant, "Change a question-and-answer rule")
                .more("Absent fields are unchanged."),
        )
        .delete(
            "/channels/{channelId}/assistant/qa/{qaId}",
            assistant::qa::remove,
            text("delete_rule", Assistant, "Delete a question-and-answer rule"),
        )
        .get(
            "/channels/{channelId}/assistant/welcome",
            assistant::texts::welcome,
            text("get_welcome", Assistant, "Get the welcome message"),
        )
        .put(
            "/channels/{channelId}/assistant/welcome",
            assistant::texts::set_welcome,
            text("set_welcome", Assistant, "Set the welcome message"),
        )
        .get(
            "/channels/{channelId}/assistant/rules",
            assistant::texts::rules,
            text("get_group_rules", Assistant, "Get the group rules"),
        )
        .put(
            "/channels/{channelId}/assistant/rules",
            assistant::texts::set_rules,
            text("set_group_rules", Assistant, "Set the group rules"),
        )
        .post(
            "/channels/{channelId}/assistant/try",
            assistant::trial::attempt,
            text("try_assistant", Assistant, "Simulate a reply of the assistant")
                .more("Nothing is sent or counted."),
        )
        .get(
            "/channels/{channelId}/assistant/unanswered",
            assistant::past::unanswered,
            text("list_unanswered", Assistant, "List frequent unanswered questions").more(
                "Examines up to 20,000 of the newest stored messages of people, for up to 10 \
                 seconds. Messages that look like a question and that no current rule answers are \
                 grouped by similarity.",
            ),
        )
        .post(
            "/channels/{channelId}/assistant/backtest",
            assistant::past::backtest,
            text("backtest_rules", Assistant, "Test draft rules against past messages").more(
                "Examines up to 20,000 of the newest stored messages of people, for up to 10 \
                 seconds, and compares with the replies that were given at the time.",
            ),
        )
}

fn backup_routes(routes: Routes) -> Routes {
    routes
        .post(
            "/channels/{channelId}/backup/subscribe",
            subscriptions::subscribe,
            text("subscribe", Backup, "Create a backup subscription for a channel").more(
                "The caller becomes the owner if the channel has no owner who is in it, also when \
                 they already subscribe.",
            ),
        )
        .delete(
            "/channels/{channelId}/backup/subscribe",
            subscriptions::unsubscribe,
            text("unsubscribe", Backup, "Cancel a backup subscription; stored messages are kept")
                .more(
                    "Also allowed after leaving the channel; until the subscription is cancelled, the \
                     channel counts against the quota.",
                ),
        )
        .put(
            "/channels/{channelId}/backup/config",
            channels::set_backup,
            text("set_backup_config", Backup, "Set the backup settings of a channel"),
        )
        .get(
            "/channels/{channelId}/backup/coverage",
            backup::coverage,
            text("get_coverage", Backup, "Get the backup coverage of a channel and its gaps"),
        )
        .get(
            "/channels/{channelId}/backup/messages",
            messages::list,
            text("list_messages", Messages, "List the stored messages of a channel"),
        )
        .get(
            "/channels/{channelId}/backup/search",
            search::in_channel,
            text("search_channel", Messages, "Search the stored messages of a channel")
                .more(RELATED),
        )
        .delete(
            "/channels/{channelId}/backup/messages",
            backup::delete,
            text("delete_messages", Backup, "Delete messages sent before a time").more(
                "When there are many messages, the response is a job that continues in the \
                 background.",
            ),
        )
        .get(
            "/channels/{channelId}/jobs/{jobId}",
            jobs::read,
            text("get_job", Backup, "Get the state of a job").more(
                "A deletion or erasure: for the owner and for the person whose messages are \
                 erased, with the scope `write:backup`, until 30 days after its end. An export: \
                 for the person who began it, with the scope `read:messages`, until it expires.",
            ),
        )
        .get(
            "/channels/{channelId}/backup/export",
            export::messages,
            text("export_messages", Messages, "Export the messages of a channel as one document"),
        )
        .get(
            "/channels/{channelId}/backup/messages/{messageId}",
            messages::one,
            text("get_message", Messages, "Get a stored message"),
        )
}

fn export_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}/backup/exports",
            export_jobs::list,
            text("list_exports", Messages, "List the caller's background exports of a channel"),
        )
        .post(
            "/channels/{channelId}/backup/exports",
            export_jobs::begin,
            text("create_export", Messages, "Export the messages of a channel in the background")
                .more(
                    "The export survives a closed connection and a restart of the service. It is \
                     for the caller alone, expires three days after its completion, and the \
                     oldest of more than five is deleted.",
                ),
        )
        .get(
            "/channels/{channelId}/backup/exports/{exportId}",
            export_jobs::one,
            text("get_export", Messages, "Get a background export"),
        )
        .get(
            "/channels/{channelId}/backup/exports/{exportId}/document",
            export_jobs::document,
            text("get_export_document", Messages, "Download the document of an export").more(
                "Supports `Range`, `If-Range` and `If-None-Match`. While the export is not \
                 completed the response is 409. When a message of it is unsent, erased, deleted \
                 or edited, the document is written again: the export is `pending` until then, \
                 and the document has another `ETag`.",
            ),
        )
        .delete(
            "/channels/{channelId}/backup/exports/{exportId}",
            export_jobs::delete,
            text(
                "delete_export",
                Messages,
                "Delete an export, or cancel one that is still being written",
            ),
        )
}

fn saved_search_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/saved-searches",
            saved_searches::list,
            text("list_saved_searches", Messages, "List the caller's saved searches"),
        )
        .post(
            "/saved-searches",
            saved_searches::make,
            text("create_saved_search", Messages, "Save a search").more(
                "From then on each message that it finds is reported once, by the event \
                 `search.matched` in `GET /api/events` and to webhooks that subscribe to it. At \
                 most 100 per user.",
            ),
        )
        .get(
            "/saved-searches/{savedSearchId}",
            saved_searches::one,
            text("get_saved_search", Messages, "Get a saved search"),
        )
        .put(
            "/saved-searches/{savedSearchId}",
            saved_searches::replace,
            text("update_saved_search", Messages, "Change a saved search").more(
                "Absent fields are unchanged. With another query or other channels, and when it is \
                 enabled again, it starts again: earlier messages are not reported.",
            ),
        )
        .delete(
            "/saved-searches/{savedSearchId}",
            saved_searches::remove,
            text("delete_saved_search", Messages, "Delete a saved search"),
        )
}

fn media_routes(routes: Routes) -> Routes {
    routes
        .get(
            "/channels/{channelId}/backup/media",
            media::list,
            text("list_media", Media, "List the media files of a channel"),
        )
        .get(
            "/channels/{channelId}/backup/media/{messageId}",
            media::file,
            text("get_media", Media, "Download a media file").more(
                "Supports `Range`, `If-Range` and `If-None-Match`; the `ETag` is the file's \
                 SHA-256. When the file is not available the response is 404, and `code` is the \
                 reason: `media_pending`, `media_skipped`, `media_failed`, `media_expired`, \
                 `media_erased`, `media_missing`, `no_preview`.",
            ),
        )
}

fn key_routes(routes: Routes) -> Routes {
    routes
        .get("/keys", keys::list, text("list_keys", Keys, "List the caller's API keys"))
        .post(
            "/keys",
            keys::make,
            text("create_key", Keys, "Create an API key; the key is shown only once"),
        )
        .post(
            "/keys/{keyId}/rotate",
            keys::rotate,
            text("rotate_key", Keys, "Rotate an API key; the old one stays valid for a while"),
        )
        .delete("/keys/{keyId}", keys::remove, text("delete_key", Keys, "Delete an API key"))
}
