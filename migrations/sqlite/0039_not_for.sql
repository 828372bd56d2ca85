-- Texts that a rule must not answer, as JSON.
ALTER TABLE qa_rules ADD COLUMN not_for TEXT NOT NULL DEFAULT '[]';
