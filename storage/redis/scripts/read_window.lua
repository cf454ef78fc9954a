-- Reads as much of a list as a window shows, and one entry more: finds it by halving, so that a page
-- in the middle moves no more bytes than the first one.
-- KEYS: the list, its stretches. ARGV: the positions after and before the window, each like an entry;
-- how many entries; 1 to take them from the window's old end. storage/redis/packing.py describes both.
-- Replies with a list of the same format, whose first byte says whether the window holds no others;
-- or, if what is held does not reach to the end they are taken from, with no entries. Nothing at all
-- if there is no list.
local ENTRY = 16
local AFTER, BEFORE, MOST, BACKWARD = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local NOTHING = '\0'

-- The id in two halves: Lua's numbers are exact up to 53 bits.
local function is_newer(one, other, or_same)
    local since, high, low = struct.unpack('>i8I4I4', one)
    local s, h, l = struct.unpack('>i8I4I4', other)
    return since > s
        or since == s and high > h
        or since == s and high == h and (low > l or or_same and low == l)
end

-- How many of `held` entries come before a position; `or_on` it, too.
local function ahead(held, entries, bound, or_on)
    local first, last = 0, held
    while first < last do
        local middle = math.floor((first + last) / 2)
        if is_newer(entries(middle, middle + 1), bound, or_on) then
            first = middle + 1
        else
            last = middle
        end
    end
    return first
end

-- The window's part of `held` entries. `reaches_new` says whether they reach to its new end;
-- `reaches_old` is told how many of them are newer than its old end.
local function part(held, entries, reaches_new, reaches_old)
    local first = ahead(held, entries, AFTER, true)
    local last = math.max(first, ahead(held, entries, BEFORE, false))
    local from, to = reaches_new, reaches_old(last)
    if BACKWARD then
        from, to, first = to, from, math.max(first, last - MOST)
    else
        last = math.min(last, first + MOST)
    end
    return from and (to and '\1' or NOTHING) .. entries(first, last) or NOTHING
end

local function head()
    local held = (redis.call('STRLEN', KEYS[1]) - 1) / ENTRY
    local whole = redis.call('GETRANGE', KEYS[1], 0, 0) == '\1'
    return part(held, function(first, last)
        return first < last and redis.call('GETRANGE', KEYS[1], 1 + first * ENTRY, last * ENTRY) or ''
    end, true, function(last)
        return whole or last < held
    end)
end

-- Of the stretches that were read in this direction and do not begin inside the window, the next.
local function stretch()
    local found
    if BACKWARD then
        found = redis.call(
            'ZREVRANGEBYLEX', KEYS[2], '(<' .. BEFORE .. '\255', '[<', 'LIMIT', 0, 1)[1]
    else
        found = redis.call('ZRANGEBYLEX', KEYS[2], '[>' .. AFTER, '+', 'LIMIT', 0, 1)[1]
    end
    if not found then
        return NOTHING
    end
    local HEAD = 1 + 2 * ENTRY
    local newest, oldest = found:sub(2, 1 + ENTRY), found:sub(2 + ENTRY, HEAD)
    if BACKWARD then
        newest, oldest = oldest, newest
    end
    return part((#found - HEAD) / ENTRY, function(first, last)
        return found:sub(HEAD + 1 + first * ENTRY, HEAD + last * ENTRY)
    end, is_newer(newest, AFTER, true), function()
        return is_newer(BEFORE, oldest, true)
    end)
end

if redis.call('EXISTS', KEYS[1]) == 0 then
    return ''
end
local found = head()
local is_enough = found:sub(1, 1) == '\1' or #found == 1 + MOST * ENTRY
return is_enough and found or stretch()
