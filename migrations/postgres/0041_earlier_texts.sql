-- What a message said before it was edited: a JSON list of times and contents, oldest first. NULL where
-- nothing is kept.
ALTER TABLE messages ADD COLUMN earlier_texts TEXT;
-- True where earlier texts of edited messages are kept.
ALTER TABLE channels ADD COLUMN keep_earlier_texts BOOLEAN NOT NULL DEFAULT FALSE;
-- True while those of before the setting was switched off are still to be erased. Nothing shows them, and
-- none are kept meanwhile.
ALTER TABLE channels ADD COLUMN erase_earlier_texts BOOLEAN NOT NULL DEFAULT FALSE;
-- Time at which the setting was last switched off, for the ledger of erasures.
ALTER TABLE channels ADD COLUMN earlier_texts_ended_at BIGINT;
