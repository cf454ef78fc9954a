-- Puts jobs into a queue of arq's, but for those that are there already or run at this moment.
-- KEYS: the queue, then the jobs' own keys. ARGV: the moment from which they may run, how long they
-- are kept, both in milliseconds, then a name and a definition for each job.
for i = 2, #KEYS do
    local name, definition = ARGV[2 * i - 1], ARGV[2 * i]
    if redis.call('SET', KEYS[i], definition, 'NX', 'PX', ARGV[2]) then
        redis.call('ZADD', KEYS[1], ARGV[1], name)
    end
end
