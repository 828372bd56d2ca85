-- People who asked not to be kept, and the days on which something was not kept for that.

-- One row a change of mind. The latest one at a time decides, whatever the order of arrival of
-- what was written then.
CREATE TABLE opt_outs (
    user_id    TEXT COLLATE "C" NOT NULL,
    -- Empty for every channel.
    channel_id TEXT COLLATE "C" NOT NULL,
    at         BIGINT NOT NULL,
    -- 1: nothing of theirs is kept from then on; 0: it is kept again.
    opted_out  BIGINT NOT NULL,
    PRIMARY KEY (user_id, channel_id, at)
);

-- Number of messages that were not kept, by day in UTC; nothing about who wrote them, or when.
-- `erased_messages` has their ids, so that none counts twice.
CREATE TABLE opted_out_days (
    channel_id TEXT COLLATE "C" NOT NULL,
    -- Beginning of the day.
    day_at     BIGINT NOT NULL,
    messages   BIGINT NOT NULL,
    PRIMARY KEY (channel_id, day_at)
);
