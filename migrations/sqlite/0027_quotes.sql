-- Messages that quote a message, oldest first: the other direction of messages.quoted_id.
CREATE INDEX messages_by_quote ON messages (channel_id, quoted_id, sent_at, message_id)
    WHERE quoted_id IS NOT NULL AND sent_at IS NOT NULL;
