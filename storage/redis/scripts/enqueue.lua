-- Adds jobs to an arq queue. Jobs that are queued or running stay unchanged: when a job ends, arq
-- removes it from the queue and deletes its key in one transaction. If a process whose clock is
-- ahead has queued a job for a later time, the time is set to the earlier one. A job that has a key
-- but is not in the queue, because the server has evicted the queue, is queued again.
--
-- KEYS: the queue, then a key for each job. ARGV: the time from which the jobs may run and the time
-- to live of their keys, both in milliseconds, then a name and a definition for each job.
for i = 2, #KEYS do
    local name, definition = ARGV[2 * i - 1], ARGV[2 * i]
    redis.call('SET', KEYS[i], definition, 'NX', 'PX', ARGV[2])
    redis.call('ZADD', KEYS[1], 'LT', ARGV[1], name)
end
