-- The message that an event of an unknown type is about, as far as its JSON tells: an unsend of the
-- message erases the event. NULL where it tells none, and in events that an earlier version stored, which
-- go when they are as old as retention.other_events_days says.
ALTER TABLE other_events ADD COLUMN message_id TEXT;
