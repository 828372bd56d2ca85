-- Channels are bound to bots, and claims carry the bot.

-- Bots that joined or left a channel, the one that it belongs to (channels.bot) and others.
CREATE TABLE channel_bots (
    channel_id  TEXT NOT NULL,
    bot         TEXT NOT NULL,
    -- Latest join and leave by event time; 0 for none.
    joined_at   INTEGER NOT NULL DEFAULT 0,
    left_at     INTEGER NOT NULL DEFAULT 0,
    -- Until when, by the time of receipt, events of a bot count that owned the channel before.
    owned_until INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, bot)
) STRICT, WITHOUT ROWID;
INSERT INTO channel_bots (channel_id, bot, joined_at, left_at)
    SELECT channel_id, bot, enabled_at, disabled_at FROM channels
    WHERE bot <> '' AND type <> 'user';
CREATE INDEX channels_by_bot ON channels (bot);

-- Any bot may use the event ids of another.
UPDATE replies SET event_id = 'line:' || COALESCE(
    (SELECT c.bot FROM channels c WHERE c.channel_id = replies.channel_id AND c.bot <> ''),
    'main') || ':' || event_id;
UPDATE other_events SET event_id = 'line:' || COALESCE(
    (SELECT c.bot FROM channels c WHERE c.channel_id = other_events.channel_id AND c.bot <> ''),
    'main') || ':' || event_id;
