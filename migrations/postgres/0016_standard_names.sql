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

ALTER INDEX happenings_pkey RENAME TO outbox_events_pkey;
ALTER INDEX happenings_rebuilds RENAME TO outbox_events_rebuilds;
ALTER INDEX happenings_unkept RENAME TO outbox_events_unstored;
ALTER SEQUENCE happenings_seq_seq RENAME TO outbox_events_seq_seq;
ALTER INDEX presence_pkey RENAME TO coverage_changes_pkey;
ALTER INDEX takebacks_pkey RENAME TO retractions_pkey;
ALTER INDEX usage_notices_untold RENAME TO usage_notices_pending;
ALTER INDEX webhooks_untold RENAME TO webhooks_notice_pending;
ALTER INDEX webhook_feed_pkey RENAME TO webhook_outbox_position_pkey;

-- The same function (see 0011), whose body names the renamed table.
CREATE OR REPLACE FUNCTION chatkeep_log_bound(seen pg_snapshot) RETURNS bigint
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    lowest  bigint := pg_snapshot_xmin(seen)::text::bigint;
    highest bigint := pg_snapshot_xmax(seen)::text::bigint;
    before  text[];
    others  integer[];
    after   text[];
    bound   bigint;
BEGIN
    -- Mostly nothing runs, or nothing is hidden by what runs.
    IF lowest >= highest OR NOT EXISTS (SELECT 1 FROM outbox_events WHERE tx >= lowest) THEN
        RETURN lowest;
    END IF;
    before := ARRAY(SELECT l.transactionid::text || ' ' || l.pid FROM pg_locks l
                    WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
                      AND l.granted AND l.pid IS NOT NULL);
    -- The list of backends is remembered until a transaction ends.
    PERFORM pg_stat_clear_snapshot();
    others := ARRAY(SELECT a.pid FROM pg_stat_activity a
                    WHERE a.datid <> (SELECT d.oid FROM pg_database d
                                      WHERE d.datname = current_database()));
    after := ARRAY(SELECT l.transactionid::text FROM pg_locks l
                   WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock'
                     AND l.granted AND l.pid = ANY (others)
                     AND l.transactionid::text || ' ' || l.pid = ANY (before));
    SELECT MIN(running::text::bigint) INTO bound FROM pg_snapshot_xip(seen) AS running
    WHERE running::xid::text <> ALL (after)
      AND NOT EXISTS (SELECT 1 FROM pg_prepared_xacts p
                      WHERE p.transaction = running::xid AND p.database <> current_database());
    RETURN COALESCE(bound, highest);
END $$;
