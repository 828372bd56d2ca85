-- person_block, bot_block, rule_block, reply_block: the counters of the same names, by blocks of 32 days, so
-- that a page about a year of a busy chat reads a dozen rows a person. Processes of an earlier version do
-- not count them; while such a process has counted, the page reads the counters by day.
-- `chatkeep doctor --repair` recounts.
INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, counter || '_block', at - (at % 2764800000 + 2764800000) % 2764800000, item,
       CAST(SUM(messages) AS INTEGER), 0
FROM activity_counters WHERE counter IN ('person', 'bot', 'rule', 'reply')
GROUP BY channel_id, counter, at - (at % 2764800000 + 2764800000) % 2764800000, item;
