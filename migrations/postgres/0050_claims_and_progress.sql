-- Time until which a membership check is claimed by a process that asks the platform; 0 once it has
-- answered. checked_at is the time of the answer, and set with a claim as well: processes of an
-- earlier version go by it alone.
ALTER TABLE membership_checks ADD COLUMN claimed_until BIGINT NOT NULL DEFAULT 0;

-- When an import, or its undoing, last got further; NULL for one by an earlier version, and before
-- the first part of it.
ALTER TABLE imports ADD COLUMN active_at BIGINT;
