-- Closes a cached value: no reader can fill it until every writer has removed its closing, or the
-- closings expire.
--
-- KEYS: the value's closings. ARGV: the writer's token, and after how many milliseconds all
-- closings of the value expire.
redis.call('HSET', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
