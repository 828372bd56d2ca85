-- Secrets of the stand-ins that keys and webhooks show for people; without one they show people as
-- they are.
ALTER TABLE api_keys ADD COLUMN pseudonym_secret TEXT;
ALTER TABLE webhooks ADD COLUMN pseudonym_secret TEXT;
