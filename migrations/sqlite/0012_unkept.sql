-- Messages that are told of and not kept, the bot's own messages by a kind of their own, and
-- channels that become active again by an event.

-- JSON object of what is told of a message that is not kept: why, who sent it, its type. NULL for
-- everything else.
ALTER TABLE happenings ADD COLUMN unkept TEXT;
ALTER TABLE webhook_deliveries ADD COLUMN unkept TEXT;
-- Such a message is told once, however often it comes.
CREATE UNIQUE INDEX happenings_unkept ON happenings (channel_id, subject_id)
    WHERE unkept IS NOT NULL;

-- Deliveries that were never tried: what the bot answers waits for what it answers.
CREATE INDEX webhook_deliveries_untried ON webhook_deliveries (webhook_id, channel_id, delivery_no)
    WHERE attempts = 0 AND due_at IS NOT NULL;

-- What the bot said was told as received until now. Nobody who wants `message.received` is told
-- more of it; what was delivered stays in the log under its name.
UPDATE happenings SET type = 'message.sent'
WHERE type = 'message.received' AND EXISTS (
    SELECT 1 FROM messages m WHERE m.channel_id = happenings.channel_id
      AND m.message_id = happenings.subject_id AND m.is_bot <> 0);
UPDATE webhook_deliveries SET status = 'dropped', due_at = NULL, leased = 0
WHERE type = 'message.received' AND status = 'pending' AND EXISTS (
    SELECT 1 FROM messages m WHERE m.channel_id = webhook_deliveries.channel_id
      AND m.message_id = webhook_deliveries.subject_id AND m.is_bot <> 0);

-- The first event after the latest leave, where no join came between; 0 for none.
ALTER TABLE channels ADD COLUMN resumed_at INTEGER NOT NULL DEFAULT 0;
