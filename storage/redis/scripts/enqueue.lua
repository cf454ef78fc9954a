-- Adds jobs to an arq queue. Those that are queued or running stay as they are: arq removes a job
-- from the queue when it ends, in one transaction with its key. A queued job that may run only later,
-- because a process with a clock that is ahead has queued it, may run from now on. A job that the
-- queue has lost, because the server has evicted it, is queued again.
--
-- KEYS: the queue, then the jobs' own keys. ARGV: the time from which they may run and how long
-- they are kept, both in milliseconds, then a name and a definition for each job.
for i = 2, #KEYS do
    local name, definition = ARGV[2 * i - 1], ARGV[2 * i]
    redis.call('SET', KEYS[i], definition, 'NX', 'PX', ARGV[2])
    redis.call('ZADD', KEYS[1], 'LT', ARGV[1], name)
end
