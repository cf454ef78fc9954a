-- Reads entries of a list that lie in a window, by binary search, so that a page in the middle
-- costs no more than the first one.
--
-- KEYS: the list, its page ranges. ARGV: the positions `after` and `before` of the window,
-- formatted like entries; the maximum number of entries; 1 to take them from the window's old end.
-- See storage/cache/codec/ for both formats.
--
-- Replies with a list value. Its first byte is 1 if it has the maximum number of entries or all
-- entries in the window, else 0. The reply is empty if the list is not cached.
local unpack, floor = struct.unpack, math.floor
local ENTRY = 16
local ENTRIES_AT_ONCE = 128 -- reading this many entries costs as much as a redis.call
local AFTER, BEFORE, LIMIT, BACKWARD = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local NOTHING = '\0'

-- Counts the entries before a position, and the entry at it if `inclusive`. The entries begin after
-- the first `skipped` bytes. The id is compared in two halves, because Lua's numbers are exact up to
-- 53 bits.
local function ahead(bytes, skipped, position, inclusive)
    local since, high, low = unpack('>i8I4I4', position)
    low = inclusive and low - 1 or low
    local first, last = 0, (#bytes - skipped) / ENTRY
    local middle = last - 1 -- begin with the last entry: often all entries come before the position
    while first < last do
        local s, h, l = unpack('>i8I4I4', bytes, 1 + skipped + middle * ENTRY)
        if s > since or s == since and (h > high or h == high and l > low) then
            first = middle + 1
        else
            last = middle
        end
        middle = floor((first + last) / 2)
    end
    return first
end

-- The end of the window from which entries are taken, and whether `ahead` counts the entry there.
local END, INCLUSIVE = AFTER, true
if BACKWARD then
    END, INCLUSIVE = BEFORE, false
end

-- The reply from `held` consecutive entries, `place` of which come before END: those in the window
-- and whether they are enough. `read(first, last)` returns the bytes of entries. `reaches(count)`
-- returns whether the `held` entries reach the window's other end; `count` of them come before it.
local function part(held, place, read, reaches)
    local shown, far
    if BACKWARD then
        shown = read(math.max(0, place - LIMIT), place)
        far = ahead(shown, 0, AFTER, true)
        shown = shown:sub(1 + far * ENTRY)
    else
        shown = read(place, math.min(held, place + LIMIT))
        far = ahead(shown, 0, BEFORE, false)
        shown = shown:sub(1, far * ENTRY)
    end
    local is_enough = #shown == LIMIT * ENTRY or reaches(place + far)
    return (is_enough and '\1' or NOTHING) .. shown, is_enough
end

local function is_whole()
    return redis.call('GETRANGE', KEYS[1], 0, 0) == '\1'
end

local function head()
    local held = (redis.call('STRLEN', KEYS[1]) - 1) / ENTRY
    local function read(first, last)
        return first < last and redis.call('GETRANGE', KEYS[1], 1 + first * ENTRY, last * ENTRY) or ''
    end
    local first, last = 0, held
    while last - first > ENTRIES_AT_ONCE do
        local middle = floor((first + last) / 2)
        if ahead(read(middle, middle + 1), 0, END, INCLUSIVE) == 1 then
            first = middle + 1
        else
            last = middle
        end
    end
    local place = first + ahead(read(first, last), 0, END, INCLUSIVE)
    return part(held, place, read, function(far)
        return BACKWARD or far < held or is_whole()
    end)
end

-- The reply from a page range that was read in this direction: the one that begins nearest to END,
-- at END or outside the window.
local function range()
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
    local held, place = (#found - HEAD) / ENTRY, ahead(found, HEAD, END, INCLUSIVE)
    return (part(held, place, function(first, last)
        return found:sub(HEAD + 1 + first * ENTRY, HEAD + last * ENTRY)
    end, function()
        local end_of_range = found:sub(2 + ENTRY, HEAD)
        if BACKWARD then
            return ahead(end_of_range, 0, AFTER, true) == 1
        end
        return ahead(end_of_range, 0, BEFORE, false) == 0
    end))
end

local oldest = redis.call('GETRANGE', KEYS[1], -ENTRY, -1)
if oldest == '' then
    return ''
end
local is_beyond = #oldest < ENTRY or ahead(oldest, 0, END, INCLUSIVE) == 1
if is_beyond and not is_whole() then
    return range()
end
local found, is_enough = head()
return is_enough and found or range()
