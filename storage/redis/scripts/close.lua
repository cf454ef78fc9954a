-- Closes a cached value: no reader can fill it until every writer has removed its closing, or the
-- closings expire.
--
-- KEYS: the value's closings. ARGV: the writer's token, and how long it lasts in milliseconds.
redis.call('HSET', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
