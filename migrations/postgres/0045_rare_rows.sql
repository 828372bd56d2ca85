-- concurrently
-- Rows that jobs look for every few minutes, and of which there are few or none: each lookup read whole
-- tables before.

-- Replies that are being sent.
CREATE INDEX IF NOT EXISTS replies_sending ON replies (created_at) WHERE status = 'sending';
-- People without a profile.
CREATE INDEX IF NOT EXISTS users_nameless ON users (user_id) WHERE profile_at = 0;
-- Channels without a name, picture and size.
CREATE INDEX IF NOT EXISTS channels_nameless ON channels (channel_id) WHERE summary_at = 0;
