-- Standard names for tables, columns and indexes. No data changes. Processes of an earlier version
-- cannot run beside this schema: stop them first.

ALTER TABLE happenings RENAME TO outbox_events;
ALTER TABLE outbox_events RENAME COLUMN unkept TO unstored;
ALTER TABLE webhook_deliveries RENAME COLUMN unkept TO unstored;
ALTER TABLE presence RENAME TO coverage_changes;
ALTER TABLE takebacks RENAME TO retractions;
ALTER TABLE usage_notices RENAME COLUMN told_at TO notified_at;
ALTER TABLE users RENAME COLUMN tell_usage TO notify_usage;
ALTER TABLE webhooks RENAME COLUMN told_at TO notified_at;
ALTER TABLE webhooks RENAME COLUMN told TO notice_outcome;
ALTER TABLE webhook_feed RENAME TO webhook_outbox_position;

DROP INDEX happenings_rebuilds;
CREATE INDEX outbox_events_rebuilds ON outbox_events (seq) WHERE type = 'search.rebuild';
DROP INDEX happenings_unkept;
CREATE UNIQUE INDEX outbox_events_unstored ON outbox_events (channel_id, subject_id)
    WHERE unstored IS NOT NULL;
DROP INDEX usage_notices_untold;
CREATE INDEX usage_notices_pending ON usage_notices (notice_id) WHERE notified_at IS NULL;
DROP INDEX webhooks_untold;
CREATE INDEX webhooks_notice_pending ON webhooks (disabled_at)
    WHERE disabled_reason IS NOT NULL AND notified_at IS NULL;
