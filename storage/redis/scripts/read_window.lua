-- Reads as much of a list as a window shows, and one entry more, so that a page in the middle moves
-- no more bytes than the first one.
-- KEYS: the list, its stretches. ARGV: the positions after and before the window, each like an entry;
-- how many entries; 1 to take them from the window's old end. storage/redis/packing.py describes both.
-- Replies with a list of the same format, whose first byte says, of fewer entries than were asked for,
-- whether the window holds no others; or, if what is held does not reach to the end they are taken
-- from, with no entries. Nothing at all if there is no list.
local ENTRY = 16
local ENTRIES_AT_ONCE = 128 -- a call of the server costs as much as reading so many
local AFTER, BEFORE, MOST, BACKWARD = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local NOTHING = '\0'

-- How many of some entries come before a position; `or_on` it, too. The id is in two halves: Lua's
-- numbers are exact up to 53 bits.
local function ahead(entries, position, or_on)
    local since, high, low = struct.unpack('>i8I4I4', position)
    low = or_on and low - 1 or low
    local first, last = 0, #entries / ENTRY
    local middle = last - 1
    while first < last do
        local s, h, l = struct.unpack('>i8I4I4', entries, 1 + middle * ENTRY)
        if s > since or s == since and (h > high or h == high and l > low) then
            first = middle + 1
        else
            last = middle
        end
        middle = math.floor((first + last) / 2)
    end
    return first
end

-- The end of the window that entries are taken from, and whether `ahead` is to count what is on it.
local END, OR_ON = AFTER, true
if BACKWARD then
    END, OR_ON = BEFORE, false
end

-- How many of the `held` entries that `read` reads come before that end, found by halving.
local function ahead_of_window(held, read)
    local first, last = 0, held
    while last - first > ENTRIES_AT_ONCE do
        local middle = math.floor((first + last) / 2)
        if ahead(read(middle, middle + 1), END, OR_ON) == 1 then
            first = middle + 1
        else
            last = middle
        end
    end
    return first + ahead(read(first, last), END, OR_ON)
end

-- The window's part of `held` entries. `reaches_new` and `reaches_old` say whether they reach to its
-- other end; the latter is told how many of them are newer than that.
local function part(held, read, reaches_new, reaches_old)
    local place = ahead_of_window(held, read)
    local shown, reaches
    if BACKWARD then
        shown = read(math.max(0, place - MOST), place)
        shown = shown:sub(1 + ahead(shown, AFTER, true) * ENTRY)
        reaches = reaches_new
    else
        shown = read(place, math.min(held, place + MOST))
        shown = shown:sub(1, ahead(shown, BEFORE, false) * ENTRY)
        reaches = reaches_old(place + #shown / ENTRY)
    end
    return (reaches and '\1' or NOTHING) .. shown
end

local function is_whole()
    return redis.call('GETRANGE', KEYS[1], 0, 0) == '\1'
end

local function head()
    local held = (redis.call('STRLEN', KEYS[1]) - 1) / ENTRY
    return part(held, function(first, last)
        return first < last and redis.call('GETRANGE', KEYS[1], 1 + first * ENTRY, last * ENTRY) or ''
    end, true, function(last)
        return last < held or is_whole()
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
    local far = found:sub(2 + ENTRY, HEAD)
    return part((#found - HEAD) / ENTRY, function(first, last)
        return found:sub(HEAD + 1 + first * ENTRY, HEAD + last * ENTRY)
    end, ahead(far, AFTER, true) == 1, function()
        return ahead(far, BEFORE, false) == 0
    end)
end

local oldest = redis.call('GETRANGE', KEYS[1], -ENTRY, -1)
if oldest == '' then
    return ''
end
local is_beyond = #oldest < ENTRY or ahead(oldest, END, OR_ON) == 1
if is_beyond and not is_whole() then
    return stretch()
end
local found = head()
local is_enough = found:sub(1, 1) == '\1' or #found == 1 + MOST * ENTRY
return is_enough and found or stretch()
