-- People's consent to programs that read for them at /mcp: OAuth with public clients.

-- Programs that registered themselves. Those that describe themselves at an address are not here.
CREATE TABLE oauth_clients (
    client_id     TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    -- Whether anybody ever consented to it.
    granted       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE granted = 0;

-- What somebody consented to.
CREATE TABLE oauth_grants (
    grant_id    TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL REFERENCES users (user_id),
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    -- JSON list of the only channels that it may see; NULL for every one of the person.
    channel_ids TEXT,
    -- What its tokens are for, and for nothing else.
    resource    TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_grants_by_user ON oauth_grants (user_id, created_at);

-- Codes, access tokens and refresh tokens of grants; only their SHA-256 is here.
CREATE TABLE oauth_secrets (
    hash         TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    grant_id     TEXT NOT NULL REFERENCES oauth_grants (grant_id) ON DELETE CASCADE,
    expires_at   INTEGER NOT NULL,
    -- When it was taken, for what serves once.
    used_at      INTEGER,
    -- What a code is bound to.
    redirect_uri TEXT,
    challenge    TEXT
) STRICT;
CREATE INDEX oauth_secrets_by_grant ON oauth_secrets (grant_id);
CREATE INDEX oauth_secrets_by_end ON oauth_secrets (expires_at);
