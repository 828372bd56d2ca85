-- Deliveries about messages that are not stored: they are emptied when the message is unsent, or its
-- sender erased.
CREATE INDEX IF NOT EXISTS webhook_deliveries_unstored ON webhook_deliveries (channel_id, subject_id)
    WHERE unstored IS NOT NULL;
