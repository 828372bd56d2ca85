-- The life of what is kept: how long it stays, what its users are told, what the check of all
-- counters looks up.

-- Days after which a channel's messages go; NULL keeps them for ever.
ALTER TABLE channels ADD COLUMN retention_days INTEGER;
-- Messages sent before this went because of that.
ALTER TABLE channels ADD COLUMN retained_from INTEGER NOT NULL DEFAULT 0;

-- Edits whose message did not come yet.
CREATE INDEX messages_stray ON messages (edited_at) WHERE sent_at IS NULL AND content IS NOT NULL;
CREATE INDEX other_events_by_age ON other_events (at, event_id);
CREATE INDEX usage_notices_by_user ON usage_notices (user_id, notice_id);
-- What became of telling a user that their usage crossed a threshold; NULL while nobody was told.
ALTER TABLE usage_notices ADD COLUMN outcome TEXT;
-- Notices of before told nobody, and are news no longer.
UPDATE usage_notices SET told_at = created_at, outcome = 'not_told' WHERE told_at IS NULL;
-- Whether a user wants to be told of their usage in their own chat with the bot.
ALTER TABLE users ADD COLUMN tell_usage INTEGER NOT NULL DEFAULT 1;
-- The bot's own messages of a reply, as a JSON list of ids: a process that dies after it recorded
-- them has another one tell the indexer.
ALTER TABLE replies ADD COLUMN sent_ids TEXT;
