-- Texts that an overview examines, by time: those with a link, a mention, or a mark of a question. An
-- unsent message has no content, and is not in it.
CREATE INDEX IF NOT EXISTS messages_noted ON messages (channel_id, sent_at, message_id)
    WHERE type = 'text' AND sent_at IS NOT NULL
      AND (content LIKE '%://%' OR content LIKE '%"mentions":[%' OR content LIKE '%?%'
           OR content LIKE '%？%' OR content LIKE '%嗎%' OR content LIKE '%吗%'
           OR content LIKE '%ですか%' OR content LIKE '%ますか%' OR content LIKE '%ไหม%'
           OR content LIKE '%มั้ย%');
-- Messages by the time at which they were edited, and unsent.
CREATE INDEX IF NOT EXISTS messages_by_edit ON messages (channel_id, edited_at, message_id)
    WHERE edited_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_by_unsend ON messages (channel_id, unsent_at, message_id)
    WHERE unsent_at IS NOT NULL;
