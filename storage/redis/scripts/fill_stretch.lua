-- Adds a stretch to those of a list, if the lease to do so still stands.
-- KEYS: the stretches, their lease. ARGV: the lease's token, the stretch, their life in milliseconds,
-- how many there may be: of more, all others are forgotten.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
    return 0
end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then
    redis.call('UNLINK', KEYS[1])
end
redis.call('ZADD', KEYS[1], 0, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('DEL', KEYS[2])
return 1
