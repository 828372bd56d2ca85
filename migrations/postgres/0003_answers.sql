-- The message that a reply answers: so that what a draft of rules would have said can stand beside
-- what was said. Replies to people who joined answer no message.
ALTER TABLE replies ADD COLUMN message_id TEXT COLLATE "C";
CREATE INDEX replies_by_message ON replies (channel_id, message_id) WHERE message_id IS NOT NULL;
