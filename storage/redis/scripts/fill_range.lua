-- Adds a page range to those of a list, if the lease still exists.
--
-- KEYS: the page ranges, their lease. ARGV: the lease's token, the page range, their time to live
-- in milliseconds, and their maximum number: at this number, all earlier ones are deleted.
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
