-- Takes tokens out of a token bucket.
--
-- KEYS: the bucket. ARGV: its size; the tokens that are added in a millisecond; how many tokens
-- were spent before without a request; the fewest and the most tokens to take.
--
-- Replies with the tokens taken, the tokens that remain, and how many milliseconds to wait if there
-- are too few. A bucket whose key does not exist is full.
local size, per_ms, spent = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local least, most = math.min(tonumber(ARGV[4]), size), tonumber(ARGV[5])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = size
if held[1] then
    -- After a failover, the clock of the new primary may be behind.
    tokens = math.min(size, tonumber(held[1]) + math.max(0, now - tonumber(held[2])) * per_ms)
end
tokens = math.max(tokens - spent, -size)
local taken, wait = 0, 0
if tokens >= least then
    taken = math.floor(math.min(most, tokens))
    tokens = tokens - taken
else
    wait = math.ceil((least - tokens) / per_ms)
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.3f', tokens), 'at', string.format('%d', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((size - tokens) / per_ms) + 1)
return {taken, math.floor(tokens), wait}
