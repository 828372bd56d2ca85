-- The media store that the files of messages are in, by its media-store.id: another one, such as the
-- empty folder of a disk that is not mounted, must not be taken for it. NULL until a service starts.
ALTER TABLE deployment ADD COLUMN media_store TEXT;
-- For a record whose file is lost: when the file was stored. The record goes on naming the file, so
-- that nothing deletes it should it come back, and is whole again then.
ALTER TABLE media ADD COLUMN lost_stored_at BIGINT;
