-- What a user used of their quota, in bytes, at the end of each day on which that changed; a day
-- without a row has the value of the day before. The newest row of a user has their `used_bytes`.
-- A process of an earlier version writes no rows: the next change of a user's usage does.
CREATE TABLE usage_days (
    user_id TEXT NOT NULL REFERENCES users (user_id),
    -- Begin of the day in UTC, in milliseconds since 1970.
    day     INTEGER NOT NULL,
    bytes   INTEGER NOT NULL,
    PRIMARY KEY (user_id, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_days_by_day ON usage_days (day);

INSERT INTO usage_days (user_id, day, bytes)
SELECT user_id, CAST(strftime('%s', 'now') AS INTEGER) / 86400 * 86400000, used_bytes
FROM users WHERE used_bytes <> 0;
