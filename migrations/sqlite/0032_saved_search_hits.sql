-- A process of an earlier version, while it runs beside this one, tells of hits without generation and
-- event: what it tells for a search whose query was changed may be told once more when it is edited.

-- Which query of the search told of a message: with another query or other channels a saved search gets
-- the next generation, and its hits of earlier ones count for nothing. They are removed in parts; up to
-- swept_generation none are left.
ALTER TABLE saved_searches ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE saved_searches ADD COLUMN swept_generation INTEGER NOT NULL DEFAULT 0;
CREATE INDEX saved_searches_unswept ON saved_searches (saved_search_id) WHERE swept_generation < generation;

ALTER TABLE saved_search_hits ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
-- outbox_events.seq of the event that tells of the hit; earlier ones are shown no more. NULL for one of an
-- earlier version.
ALTER TABLE saved_search_hits ADD COLUMN event_seq INTEGER;
-- 1 once a reader or a delivery left the event out because the search did not find the message: when it
-- finds it again, a new event tells of it.
ALTER TABLE saved_search_hits ADD COLUMN passed_over INTEGER NOT NULL DEFAULT 0;
