-- concurrently
-- Events of unknown types by the message that they are about.
CREATE INDEX IF NOT EXISTS other_events_by_message ON other_events (message_id, channel_id)
    WHERE message_id IS NOT NULL;
