-- Each stored message raises counters. In pages with room for a second version of a row PostgreSQL changes
-- it without new entries in the indexes of the table; pages written before stay as they are.
ALTER TABLE activity_counters SET (fillfactor = 70);
ALTER TABLE channels SET (fillfactor = 70);
ALTER TABLE users SET (fillfactor = 70);
