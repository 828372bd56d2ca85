-- Jobs of channels that end their process again and again, or make no progress; and changes of messages
-- that exports in the background may contain: one row a change, however many exports there are.

-- Times in a row that the process which worked on it ended, or hung, before anything of it was done.
ALTER TABLE channel_jobs ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
-- Time of the last progress; NULL before, and in rows of an earlier version.
ALTER TABLE channel_jobs ADD COLUMN progress_at INTEGER;
-- As of channel_jobs. A completed export that is written again begins anew.
ALTER TABLE exports ADD COLUMN interruptions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE exports ADD COLUMN progress_at INTEGER;

-- Number of the last change that was made before the part was begun: what was changed later is not as
-- the part says.
ALTER TABLE export_parts ADD COLUMN begun_no INTEGER NOT NULL DEFAULT 0;

-- Messages that were changed or removed, by their times of sending. Parts of exports begun before that
-- may contain them: they are not read any more, and are written again. A row goes once a worker has
-- found these parts. Numbers of a channel's rows grow, also after the last one has gone.
CREATE TABLE export_changes (
    change_no  INTEGER PRIMARY KEY AUTOINCREMENT,
    channel_id TEXT NOT NULL,
    -- First and last time of sending.
    first_at   INTEGER NOT NULL,
    last_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX export_changes_of_channel ON export_changes (channel_id, change_no);
