-- Reads as much of a list as a window shows, and one entry more: finds it by halving, so that a page
-- in the middle moves no more bytes than the first one.
-- KEYS: the list. ARGV: the positions after and before the window, each like an entry; how many
-- entries; 1 to take them from the window's old end. storage/redis/packing.py describes the list.
-- Replies with a list of the same format, whose first byte says whether the window ends with it; or,
-- if the old end lies beyond what is held, with no entries. Nothing at all if there is no list.
local ENTRY = 16

local length = redis.call('STRLEN', KEYS[1])
if length == 0 then
    return ''
end
local held = (length - 1) / ENTRY

local function entries(first, last)
    return first < last and redis.call('GETRANGE', KEYS[1], 1 + first * ENTRY, last * ENTRY) or ''
end

-- The id in two halves: Lua's numbers are exact up to 53 bits.
local function position(entry)
    return struct.unpack('>i8I4I4', entry)
end

-- How many entries come before a position; `or_on` it, too.
local function ahead(bound, or_on)
    local since, high, low = position(bound)
    local first, last = 0, held
    while first < last do
        local middle = math.floor((first + last) / 2)
        local s, h, l = position(entries(middle, middle + 1))
        if s > since
            or s == since and h > high
            or s == since and h == high and (l > low or or_on and l == low) then
            first = middle + 1
        else
            last = middle
        end
    end
    return first
end

local first, last = ahead(ARGV[1], true), ahead(ARGV[2], false)
local most, backward = tonumber(ARGV[3]), ARGV[4] == '1'
local whole = redis.call('GETRANGE', KEYS[1], 0, 0) == '\1'
if not whole and last == held then
    return '\0' .. (backward and '' or entries(first, math.min(last, first + most)))
end
if backward then
    return '\1' .. entries(math.max(first, last - most), last)
end
return '\1' .. entries(first, math.min(last, first + most))
