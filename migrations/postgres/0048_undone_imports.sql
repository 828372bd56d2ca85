-- When the last message of an import was undone; NULL while that goes on, and when it was interrupted.
ALTER TABLE imports ADD COLUMN undo_ended_at BIGINT;
-- What was undone before is taken for undone whole.
UPDATE imports SET undo_ended_at = undone_at;
