-- Time of the last change of a rule's texts, in milliseconds since 1970; NULL while it is as it was
-- created.
ALTER TABLE qa_rules ADD COLUMN changed_at BIGINT;
