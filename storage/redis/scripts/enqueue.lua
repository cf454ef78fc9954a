-- Adds jobs to an arq queue, except those that are queued or running. A queued job that may run only
-- later, because a process with a clock that is ahead has queued it, may run from now on.
--
-- KEYS: the queue, then the jobs' own keys. ARGV: the time from which they may run and how long
-- they are kept, both in milliseconds, then a name and a definition for each job.
for i = 2, #KEYS do
    local name, definition = ARGV[2 * i - 1], ARGV[2 * i]
    if redis.call('SET', KEYS[i], definition, 'NX', 'PX', ARGV[2]) then
        redis.call('ZADD', KEYS[1], ARGV[1], name)
    else
        redis.call('ZADD', KEYS[1], 'XX', 'LT', ARGV[1], name)
    end
end
