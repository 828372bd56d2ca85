-- Hits of a rule whose replies were deleted since for their age: with the replies that are left they
-- make `hit_count` and `suppressed_count`. A process of an earlier version does not count what it
-- deletes; `doctor` then reports the rules.
ALTER TABLE qa_rules ADD COLUMN purged_hits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE qa_rules ADD COLUMN purged_suppressed BIGINT NOT NULL DEFAULT 0;

UPDATE qa_rules SET purged_hits = hit_count, purged_suppressed = suppressed_count
WHERE hit_count <> 0;

UPDATE qa_rules SET purged_hits = purged_hits - r.hits,
                    purged_suppressed = purged_suppressed - r.suppressed
FROM (SELECT channel_id, rule_id, COUNT(*) AS hits,
             SUM(CASE WHEN status = 'suppressed' THEN 1 ELSE 0 END) AS suppressed
      FROM replies WHERE rule_id IS NOT NULL GROUP BY channel_id, rule_id) AS r
WHERE qa_rules.channel_id = r.channel_id AND qa_rules.rule_id = r.rule_id;
