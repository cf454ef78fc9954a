-- Returns the epoch of the absence log: the name of the stream's only consumer group. Redis loses it
-- only with the stream, keeps it when entries are trimmed, and older releases ignore it.
--
-- KEYS: the stream. ARGV: the epoch of a stream that has none, which is created if it does not exist;
-- without it, nil is returned for such a stream.
if redis.call('EXISTS', KEYS[1]) == 1 then
    local groups = redis.call('XINFO', 'GROUPS', KEYS[1])
    if #groups > 0 then
        return groups[1][2]
    end
end
if ARGV[1] then
    redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
end
return ARGV[1]
