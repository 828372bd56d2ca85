-- What gave a reply of the bot, beside the reply itself: records of replies are deleted after some
-- weeks, messages stay.
ALTER TABLE messages ADD COLUMN reply_source TEXT;
-- Rule that gave it; the rule may be gone.
ALTER TABLE messages ADD COLUMN reply_rule_id TEXT;
UPDATE messages SET reply_source = r.source, reply_rule_id = r.rule_id
FROM (SELECT replies.channel_id, replies.source, replies.rule_id, sent.value AS message_id
      FROM replies JOIN json_each(replies.sent_ids) sent
      WHERE replies.sent_ids IS NOT NULL) r
WHERE messages.channel_id = r.channel_id AND messages.message_id = r.message_id;
