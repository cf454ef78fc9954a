-- Creates an empty stream that counts its entries from the present time in microseconds. So a stream
-- that is created again, after the server has lost the first one, counts from a greater number.
--
-- KEYS: the stream. If it exists, it stays unchanged.
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('XGROUP', 'CREATE', KEYS[1], 'created', '0', 'MKSTREAM')
    redis.call('XGROUP', 'DESTROY', KEYS[1], 'created')
    local clock = redis.call('TIME')
    local now = string.format('%d%06d', clock[1], clock[2])
    -- Redis 6 does not count entries, and rejects the command.
    redis.pcall('XSETID', KEYS[1], '0-0', 'ENTRIESADDED', now, 'MAXDELETEDID', '0-0')
end
