-- Time of the last restoration from a snapshot, in milliseconds since 1970; 0 without one. A bus that many
-- processes share belongs to the database with its `store_id` and the latest of these times: processes of
-- another database, or of the one that was restored, are refused there. Processes of an earlier version
-- do not look.
ALTER TABLE deployment ADD COLUMN restored_at INTEGER NOT NULL DEFAULT 0;
