-- What the bus had at the last look: another bus, or one that is behind, has lost events that were
-- accepted, and coverage shows an outage from the time up to which all of them were handled. NULL
-- until a service starts.
ALTER TABLE deployment ADD COLUMN bus_identity TEXT;
ALTER TABLE deployment ADD COLUMN bus_last_sequence INTEGER;
ALTER TABLE deployment ADD COLUMN bus_handled_until INTEGER;
