-- Updates one direction of a relation hash with changes, which may arrive late or twice.
--
-- KEYS: the hash. ARGV: the direction (0 forward, 1 reverse), the maximum number of fields, then
-- fields and halves, alternating. See storage/cache/codec/ for both formats.
--
-- A change is written if its version is newer than the existing half. If there is no half, the edge
-- did not exist when the hash was filled. Then a change after the fill is written. A change before
-- the fill may have been undone before the fill too, so the whole hash is deleted.
local HALF = 17
local NOTHING = string.rep('\0', HALF)

local function version(half)
    return (struct.unpack('>I8', half, 10))
end

local marker = redis.call('HGET', KEYS[1], '*')
if not marker then
    return 0
end
local reverse = ARGV[1] == '1'
local as_of, complete = struct.unpack('>I8B', marker)
if math.floor(complete / (reverse and 2 or 1)) % 2 == 0 then
    return 0 -- the hash does not hold this direction
end

for i = 3, #ARGV, 2 do
    local field, new = ARGV[i], ARGV[i + 1]
    local old = redis.call('HGET', KEYS[1], field) or NOTHING .. NOTHING
    local forward_half, reverse_half = old:sub(1, HALF), old:sub(HALF + 1)
    local mine = version(reverse and reverse_half or forward_half)
    if mine == 0 and version(new) <= as_of then
        if new:byte(1) ~= 0 then
            redis.call('DEL', KEYS[1])
            return -1
        end
    elseif version(new) > mine then
        redis.call('HSET', KEYS[1], field, reverse and forward_half .. new or new .. reverse_half)
    end
end
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[2]) then
    redis.call('DEL', KEYS[1])
    return -1
end
return 1
