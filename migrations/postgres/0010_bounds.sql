-- Bounds that hold at every door: webhooks carry those of the key that made them, keys know what
-- replaced them, refresh tokens what came after them; and what is needed to remove old rows.

-- The key that made it; NULL when its owner's session did, or before this version, which may see
-- all that the owner may.
ALTER TABLE webhooks ADD COLUMN key_id TEXT COLLATE "C";
-- JSON list of scopes. Webhooks of before this version keep all that there were.
ALTER TABLE webhooks ADD COLUMN scopes TEXT NOT NULL DEFAULT '["read:messages","read:media","read:members","write:assistant","write:members","write:backup","manage:webhooks","manage:keys"]';
-- JSON list of {"c": channel}: the only channels that the key may see; NULL for all.
ALTER TABLE webhooks ADD COLUMN bound_channel_ids TEXT;
-- When the key ends, and the webhook with it; NULL for never.
ALTER TABLE webhooks ADD COLUMN ends_at BIGINT;
CREATE INDEX webhooks_by_key ON webhooks (key_id) WHERE key_id IS NOT NULL;

-- The key that took this one's place. While both work they count as one.
ALTER TABLE api_keys ADD COLUMN replaced_by TEXT COLLATE "C";
CREATE INDEX api_keys_by_end ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

-- What the tokens after a refresh token are made of, together with that token.
ALTER TABLE oauth_secrets ADD COLUMN seed TEXT;
-- When somebody consented to it last; 0 for never, or before this version.
ALTER TABLE oauth_clients ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX oauth_grants_by_client ON oauth_grants (client_id);

-- Channels in which something was taken back, erased or deleted since the dead letters were last
-- looked through for it. `version` rises, so that what comes meanwhile is not lost.
CREATE TABLE takebacks (
    channel_id TEXT COLLATE "C" PRIMARY KEY,
    version    BIGINT NOT NULL DEFAULT 1
);

CREATE INDEX replies_by_age ON replies (created_at);
CREATE INDEX usage_notices_by_age ON usage_notices (created_at);
CREATE INDEX membership_checks_by_age ON membership_checks (checked_at);
