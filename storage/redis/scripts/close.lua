-- Closes a value: it cannot be filled until every closer has opened it, or the last closing
-- expires.
--
-- KEYS: the value's closings. ARGV: the closer's token, and for how many milliseconds.
redis.call('HSET', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
