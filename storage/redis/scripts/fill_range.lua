-- Adds a page range to those of a list, if the lease still exists.
--
-- KEYS: the list's page ranges, their lease. ARGV: the lease's token, the new page range, the time
-- to live of all page ranges of the list in milliseconds, and their maximum number: if it is reached
-- already, all page ranges of the list are deleted first.
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
