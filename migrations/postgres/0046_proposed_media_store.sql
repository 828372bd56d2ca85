-- The media-store.id that processes give a media store without one: all of them the same, for some
-- object stores cannot create an object only if there is none. NULL once a media store is recorded.
ALTER TABLE deployment ADD COLUMN proposed_media_store TEXT;
