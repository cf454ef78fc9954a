-- Marks a user who begins to write: until the mark is cleared or expires, the caches do not answer
-- this user about their own writes, and nobody can fill these values.
--
-- KEYS: the user's closings, pending writes and their lease, relation hash and its lease. ARGV: the
-- mark's token, and how long it lasts in milliseconds.
local is_alone = redis.call('EXISTS', KEYS[1]) == 0
redis.call('HSET', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[5])
local marker = redis.call('HGET', KEYS[4], '*')
if marker and #marker == 9 then
    redis.call('HSET', KEYS[4], '*', marker .. '\0')
elseif marker and is_alone then
    -- An earlier mark has expired without being cleared. The hash may lack that mark's write, and
    -- would be read again after this mark is cleared.
    redis.call('UNLINK', KEYS[4])
end
return 1
