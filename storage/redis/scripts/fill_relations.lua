-- Writes a whole relation hash, if the lease still exists and its owner is not writing.
--
-- KEYS: the hash, its lease, the owner's closings. ARGV: the lease's token, the hash's time to live
-- in milliseconds, then fields and values, alternating.
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('EXISTS', KEYS[3]) == 1 then
    return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
-- Lua's stack holds about 8,000 arguments.
for first = 3, #ARGV, 2000 do
    redis.call('HSET', KEYS[1], unpack(ARGV, first, math.min(first + 1999, #ARGV)))
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
