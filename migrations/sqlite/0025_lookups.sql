-- Indexes of what is looked up in tables that grow.

-- Events of unknown types that an erasure deletes.
CREATE INDEX other_events_by_channel ON other_events (channel_id, at);

-- Deliveries of a webhook of one kind, of one status, and of a time.
CREATE INDEX webhook_deliveries_by_type ON webhook_deliveries (webhook_id, type, delivery_no);
CREATE INDEX webhook_deliveries_by_status ON webhook_deliveries (webhook_id, status, delivery_no);
CREATE INDEX webhook_deliveries_by_time
    ON webhook_deliveries (webhook_id, created_at, delivery_no);

-- Days on which a person wrote, for the page about what is stored of them.
CREATE INDEX activity_counters_by_person ON activity_counters (item, channel_id)
    WHERE counter = 'person';

-- `channel_changes.kind` of 0019 names `welcome`, which nothing writes: changes of the welcome are
-- settings of the assistant, of the kind `assistant`.
