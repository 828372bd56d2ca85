-- End of outbox_events when the webhook was made, or enabled again: what was committed before is
-- not told. `since` says the same by the clock of a process, for processes of an earlier version.
-- These set no end: a webhook that one of them makes or enables gets what the fan-out has not passed
-- yet. So do webhooks of before the migration: what the fan-out has passed was told.

-- The last number of an event that was given by then.
ALTER TABLE webhooks ADD COLUMN since_seq BIGINT NOT NULL DEFAULT 0;
-- The transactions of PostgreSQL at that moment (pg_snapshot): one that was under way may have taken
-- a number before, and commits after it. NULL in SQLite, which commits in the order of the numbers.
ALTER TABLE webhooks ADD COLUMN since_snapshot TEXT;
