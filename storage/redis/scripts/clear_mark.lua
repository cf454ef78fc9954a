-- Clears a writer's mark after the caches have been updated. If it was the user's last mark, the
-- relation hash answers the user again.
--
-- KEYS: the user's closings and relation hash. ARGV: the mark's token.
redis.call('HDEL', KEYS[1], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 1 then
    return 0 -- another write of the user is in progress
end
local marker = redis.call('HGET', KEYS[2], '*')
if marker and #marker > 9 then
    redis.call('HSET', KEYS[2], '*', marker:sub(1, 9))
end
return 1
