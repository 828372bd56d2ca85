-- Outgoing webhooks: where to, what is to be told there, and what became of it.

-- What a happening is about beside its subject: the webhook that was disabled.
ALTER TABLE happenings ADD COLUMN detail_id TEXT COLLATE "C";

CREATE TABLE webhooks (
    webhook_id      TEXT COLLATE "C" PRIMARY KEY,
    user_id         TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    url             TEXT NOT NULL,
    description     TEXT NOT NULL,
    -- JSON lists of {"t": type} and {"c": channel}; NULL for every channel of the owner.
    events          TEXT NOT NULL,
    channel_ids     TEXT,
    -- Nothing from before this is told: the key that made it may not read that.
    not_before      BIGINT,
    enabled         BIGINT NOT NULL,
    -- Usable, for signing; shown once and never logged.
    secret          TEXT NOT NULL,
    old_secret      TEXT,
    old_until       BIGINT NOT NULL DEFAULT 0,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    -- What was logged before this is not told: when it was made, or enabled again.
    since           BIGINT NOT NULL,
    -- The first failure since the last success.
    failing_since   BIGINT,
    -- It asked to be left alone until then.
    not_until       BIGINT NOT NULL DEFAULT 0,
    -- Why it was disabled by itself: gone or failing.
    disabled_reason TEXT,
    disabled_at     BIGINT,
    -- When its owner was told of that, and what became of telling.
    told_at         BIGINT,
    told            TEXT
);
CREATE INDEX webhooks_by_user ON webhooks (user_id, created_at);
CREATE INDEX webhooks_untold ON webhooks (disabled_at)
    WHERE disabled_reason IS NOT NULL AND told_at IS NULL;

-- What is to be told to a webhook. It holds ids only; the body is made anew for every attempt, so
-- that nothing erased is in here. Only the answer may repeat what it was told, so it goes with the
-- message.
CREATE TABLE webhook_deliveries (
    delivery_no   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id    TEXT COLLATE "C" NOT NULL REFERENCES webhooks (webhook_id) ON DELETE CASCADE,
    -- The header webhook-id: the same for every attempt, and for every webhook.
    event_id      TEXT COLLATE "C" NOT NULL,
    type          TEXT NOT NULL,
    at            BIGINT NOT NULL,
    channel_id    TEXT COLLATE "C",
    subject_id    TEXT COLLATE "C",
    detail_id     TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    -- pending, delivered, failed, dropped.
    status        TEXT NOT NULL DEFAULT 'pending',
    attempts      BIGINT NOT NULL DEFAULT 0,
    -- When it is tried next; while it is being tried, when that is given up; NULL at its end.
    due_at        BIGINT,
    leased        BIGINT NOT NULL DEFAULT 0,
    -- Rises whenever somebody takes it, so that only the last one may say what became of it.
    claims        BIGINT NOT NULL DEFAULT 0,
    -- The last attempt.
    tried_at      BIGINT,
    took_ms       BIGINT,
    http_status   BIGINT,
    error         TEXT,
    answer        TEXT,
    request_bytes BIGINT
);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, event_id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at)
    WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook_id) WHERE leased = 1;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (webhook_id, delivery_no);
CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_answers ON webhook_deliveries (channel_id, subject_id)
    WHERE answer IS NOT NULL;

-- One row: how far what happened has been made into deliveries.
CREATE TABLE webhook_feed (
    id  BIGINT PRIMARY KEY CHECK (id = 1),
    tx  BIGINT NOT NULL,
    seq BIGINT NOT NULL
);
INSERT INTO webhook_feed (id, tx, seq) VALUES (1, 0, 0);
