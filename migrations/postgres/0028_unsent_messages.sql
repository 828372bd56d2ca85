-- concurrently
-- Messages that were taken back, for the ledger of erasures, which is read every few minutes.
CREATE INDEX IF NOT EXISTS messages_unsent ON messages (channel_id, message_id)
    WHERE unsent_at IS NOT NULL;
