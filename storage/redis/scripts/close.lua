-- Closes a value: nobody fills it until everybody who has closed it has opened it,
-- or the last of them has had the time.
-- KEYS: what closes it. ARGV: who does, and for how many milliseconds.
redis.call('HSET', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
