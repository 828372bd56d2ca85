-- Channels are bound to bots, claims carry the bot, and the log of what happened is read past the
-- transactions of other databases.

-- Bots that joined or left a channel, the one that it belongs to (channels.bot) and others.
CREATE TABLE channel_bots (
    channel_id  TEXT COLLATE "C" NOT NULL,
    bot         TEXT COLLATE "C" NOT NULL,
    -- Latest join and leave by event time; 0 for none.
    joined_at   BIGINT NOT NULL DEFAULT 0,
    left_at     BIGINT NOT NULL DEFAULT 0,
    -- Until when, by the time of receipt, events of a bot count that owned the channel before.
    owned_until BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (channel_id, bot)
);
INSERT INTO channel_bots (channel_id, bot, joined_at, left_at)
    SELECT channel_id, bot, enabled_at, disabled_at FROM channels
    WHERE bot <> '' AND type <> 'user';
CREATE INDEX channels_by_bot ON channels (bot);

-- Any bot may use the event ids of another.
UPDATE replies SET event_id = 'line:' || COALESCE(
    (SELECT c.bot FROM channels c WHERE c.channel_id = replies.channel_id AND c.bot <> ''),
    'main') || ':' || event_id;
UPDATE other_events SET event_id = 'line:' || COALESCE(
    (SELECT c.bot FROM channels c WHERE c.channel_id = other_events.channel_id AND c.bot <> ''),
    'main') || ':' || event_id;

-- Returns the transaction id below which a reader with the snapshot `seen` sees every row of
-- happenings that will ever be there: the lowest transaction that runs in the snapshot and is not
-- known to be of another database, else the snapshot's end.
--
-- Only positive knowledge lets a transaction be passed over. A lock on its own id that the same
-- backend holds before and after the backends' databases are read ties it to that backend's
-- database: a transaction never changes its backend, nor a backend its database. What is just
-- beginning or ending, and what has no database, counts as ours. Everybody may read these columns.
-- Locks know the low 32 bits of a transaction id, which are unique among those that run.
CREATE FUNCTION chatkeep_log_bound(seen pg_snapshot) RETURNS bigint
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
    IF lowest >= highest OR NOT EXISTS (SELECT 1 FROM happenings WHERE tx >= lowest) THEN
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
