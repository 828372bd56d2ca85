-- Lists that statements read by json_each mostly name a few channels or people. At an estimate of 500
-- rows PostgreSQL read whole tables (gaps, channels, subscriptions, users, opt_outs) for a page about
-- one channel, once those had some ten thousand rows.
ALTER FUNCTION json_each(text) ROWS 20;
