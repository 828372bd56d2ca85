-- Settings of a process that others of the same roles should have as well, by name, as a JSON object.
ALTER TABLE processes ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
