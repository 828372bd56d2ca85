-- People's consent to programs that read for them at /mcp: OAuth with public clients.

-- Programs that registered themselves. Those that describe themselves at an address are not here.
CREATE TABLE oauth_clients (
    client_id     TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    -- Whether anybody ever consented to it.
    granted       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE granted = 0;

-- What somebody consented to.
CREATE TABLE oauth_grants (
    grant_id    TEXT COLLATE "C" PRIMARY KEY,
    user_id     TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
    client_id   TEXT COLLATE "C" NOT NULL,
    client_name TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    -- JSON list of the only channels that it may see; NULL for every one of the person.
    channel_ids TEXT,
    -- What its tokens are for, and for nothing else.
    resource    TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX oauth_grants_by_user ON oauth_grants (user_id, created_at);

-- Codes, access tokens and refresh tokens of grants; only their SHA-256 is here.
CREATE TABLE oauth_secrets (
    hash         TEXT COLLATE "C" PRIMARY KEY,
    kind         TEXT NOT NULL,
    grant_id     TEXT COLLATE "C" NOT NULL REFERENCES oauth_grants (grant_id) ON DELETE CASCADE,
    expires_at   BIGINT NOT NULL,
    -- When it was taken, for what serves once.
    used_at      BIGINT,
    -- What a code is bound to.
    redirect_uri TEXT,
    challenge    TEXT
);
CREATE INDEX oauth_secrets_by_grant ON oauth_secrets (grant_id);
CREATE INDEX oauth_secrets_by_end ON oauth_secrets (expires_at);
