-- Adds jobs to an arq queue, except those that are queued or running.
--
-- KEYS: the queue, then the jobs' own keys. ARGV: the time from which they may run and how long
-- they are kept, both in milliseconds, then a name and a definition for each job.
for i = 2, #KEYS do
    local name, definition = ARGV[2 * i - 1], ARGV[2 * i]
    if redis.call('SET', KEYS[i], definition, 'NX', 'PX', ARGV[2]) then
        redis.call('ZADD', KEYS[1], ARGV[1], name)
    end
end
