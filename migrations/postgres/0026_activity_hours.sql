-- hour: messages by the hour in which they were sent, so that a page about years of a busy chat reads a
-- quarter of the rows. Processes of an earlier version do not count them: they have to be stopped first,
-- as for the other counters. `chatkeep doctor --repair` recounts.
INSERT INTO activity_counters (channel_id, counter, at, item, messages, bytes)
SELECT channel_id, 'hour', at - (at % 3600000 + 3600000) % 3600000, '', CAST(SUM(messages) AS BIGINT), 0
FROM activity_counters WHERE counter = 'quarter'
GROUP BY channel_id, at - (at % 3600000 + 3600000) % 3600000;
