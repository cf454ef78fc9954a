-- Writes a value, if the lease still exists and the value is not closed.
--
-- KEYS: the value, its lease, its closings. ARGV: the lease's token, the value, its time to live in
-- milliseconds.
if redis.call('GET', KEYS[2]) ~= ARGV[1] or redis.call('EXISTS', KEYS[3]) == 1 then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1
