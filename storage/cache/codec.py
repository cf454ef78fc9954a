"""The formats of the cached values. All numbers are big-endian.

relation hash   field: the other user's id in decimals; value: two halves, forward and reverse,
                each kind (3 bits), the flag NOTIFY (1), the other flags (4), since (8),
                version (8); zeros: no edge.
                field "*": as_of (8), then 1 = holds all forward edges, 2 = holds all reverse edges,
                then, while its user is writing, a zero byte
list            1 byte: 1 if it is the whole list; then (since, id) each (8, 8), newest first
profile         1 byte of the account: protected, two audiences (2 bits each), absent, has limit;
                then following, followers, friends (8 each): most users' values end here;
                then, if any is not 0, the other totals; then, if any account in the lists is
                absent, the number of absent ones for all totals (8 each);
                then, if a service has set one, the following limit (4)
page range      1 byte: > if read from its new end, < from its old one; the positions of that end
                and of the other, like entries; then all entries between the two. A list's page
                ranges are a sorted set, so that the one next to a position can be found
own writes      1 byte, because an empty value would read as a missing one; then user ids (8 each)
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat, starmap
from operator import add
from struct import Struct
from typing import Any, cast

from graph.account import DEFAULT, Account
from graph.counts import NO_COUNTS, Counts
from graph.edge import Edge, Millis, UserId
from graph.page import ListKind, Page, Position, Window
from graph.profile import PlainColumn, Profile
from graph.relation import STRANGERS, Relation, RelationColumn
from graph.visibility import Audience, Privacy
from storage.postgres.relations import Neighbourhood, StoredEdge

MARKER = "*"
FORWARD, REVERSE = 1, 2

_HALF = Struct(">BQQ")
_REVERSE_OFFSET = _HALF.size
_DATES = Struct(">xQ8xxQ8x")
# Tables of what the first byte of each half adds to a relation's kinds: a request decodes a
# thousand.
_FORWARD_KINDS = [first & 7 | (first & 8) << 9 | first >> 4 << 8 for first in range(256)]
_REVERSE_KINDS = [(first & 7) << 4 for first in range(256)]
_FIRST_BYTES = [
    kind | flags >> 4 << 3 | (flags & 15) << 4 for flags in range(32) for kind in range(8)
]
"""By `kind | flags << 3`. The newest flag has the bit that kinds never used."""
_MARK = Struct(">QB")
_SIDES = 8
_ENTRY = Struct(">qq")
_entries = cast("Callable[[bytes], Iterator[Position]]", _ENTRY.iter_unpack)
_PUBLIC = 3
"""Number of totals that every viewer may see."""
_PROFILE = Struct(f">B{_PUBLIC}q")
_PUBLIC_COUNTS = Struct(f">x{_PUBLIC}q")
_REMAINING_TOTALS = Struct(f">{len(NO_COUNTS.numbers) - _PUBLIC}q")
_ALL_TOTALS = Struct(f">{len(NO_COUNTS.numbers)}q")
_ABSENT_AT = _PROFILE.size + _REMAINING_TOTALS.size
_LIMIT = Struct(">I")
_HAS_LIMIT = 1 << 6
# A named tuple's constructor is a Python function: calling it would be a fifth of the cost of
# decoding one.
_new: Callable[..., Any] = tuple.__new__
_relation: Callable[[tuple[int, int, int]], Relation] = partial(tuple.__new__, Relation)
_NO_REMAINING_TOTALS = NO_COUNTS[_PUBLIC:]
_LISTS = tuple(ListKind)  # iterating over an enum takes six calls
_FIRST = Position(Millis(0), UserId(0))
_NO_HALF = bytes(_HALF.size)


def half(edge: Edge) -> bytes:
    """One direction of a relation. A tombstone's date is dropped, because nobody may see it."""
    since = edge.since if edge.kind else 0
    return _HALF.pack(_FIRST_BYTES[edge.kind | edge.flags << 3], since, edge.version)


def relation_fields(around: Neighbourhood) -> list[str | int | bytes]:
    """Fields and values of a whole relation hash, alternating, the marker first."""
    complete = (FORWARD if around.forward is not None else 0) | (
        REVERSE if around.reverse is not None else 0
    )
    fields: list[str | int | bytes] = [MARKER, _MARK.pack(around.as_of, complete)]
    reverse = _halves(around.reverse or {})
    for other, forward_half in _halves(around.forward or {}).items():
        fields += other, forward_half + reverse.pop(other, _NO_HALF)
    for other, reverse_half in reverse.items():
        fields += other, _NO_HALF + reverse_half
    return fields


def _halves(edges: Mapping[UserId, StoredEdge]) -> dict[UserId, bytes]:
    pack = _HALF.pack
    return {
        other: pack(_FIRST_BYTES[kind | flags << 3], since if kind else 0, version)
        for other, (kind, flags, since, version) in edges.items()
    }


def relations_of_hash(fields: Iterable[str | int | bytes]) -> dict[int, Relation]:
    """Decode a relation hash: the relations that are not STRANGERS, by user.

    `fields`: alternating fields and values. Tombstones and absent fields decode alike, so a hash
    that was updated in place equals a new one.
    """
    turns = iter(fields)
    values = {
        int(other): value
        for other, value in zip(turns, turns, strict=True)
        if other not in (MARKER, MARKER.encode()) and isinstance(value, bytes)
    }
    relations = zip(values, relations_in(list(values.values())), strict=True)
    return {other: both for other, both in relations if both != STRANGERS}


def sides(marker: bytes) -> int:
    """The directions that a relation hash holds completely: FORWARD | REVERSE."""
    return marker[_SIDES]


def is_marked(marker: bytes) -> bool:
    """Whether the user of a relation hash is writing: it must not answer this user."""
    return len(marker) > _MARK.size


def is_whole(marker: bytes | None) -> bool:
    """Whether a hash exists and holds both directions completely. False for a whale's."""
    return marker is not None and sides(marker) == FORWARD | REVERSE


def relations_in(values: Sequence[bytes | None]) -> RelationColumn:
    """The relations in fields of a complete hash. None stands for no relation."""
    # No call for each value: most are None, and the dates of most others are never read.
    kinds = [
        0 if value is None else _FORWARD_KINDS[value[0]] | _REVERSE_KINDS[value[_REVERSE_OFFSET]]
        for value in values
    ]
    return RelationColumn(kinds, partial(_dated, kinds, values))


def _dated(kinds: Iterable[int], values: Iterable[bytes | None]) -> list[Relation]:
    """The relations with their dates."""
    return [
        STRANGERS if value is None else _relation((both, *_DATES.unpack(value)))
        for both, value in zip(kinds, values, strict=True)
    ]


def page_value(page: Page) -> bytes:
    """A list's newest entries; `page` begins at the list's head."""
    entries = b"".join(starmap(_ENTRY.pack, page.entries))
    return (b"\0" if page.more else b"\1") + entries


def entries_in(value: bytes) -> tuple[tuple[Position, ...], bool]:
    """A list value's entries, and whether the list ends with them.

    A value that was read in part must end at an entry's boundary.
    """
    return tuple(_entries(value[1:])), value[0] == 1


def bounds(window: Window) -> tuple[bytes, bytes]:
    """The window's positions, formatted like entries. Negative dates would break the byte order."""
    return _ENTRY.pack(*max(window.after, _FIRST)), _ENTRY.pack(*max(window.before, _FIRST))


def page_range(window: Window, page: Page) -> bytes:
    """The page of a window as a page range. If the list goes on, the page's last entry becomes the
    end position, where the next range begins."""
    new, old = bounds(window)
    value = page_value(page)[1:]
    if page.more and window.backward:
        new, value = value[: _ENTRY.size], value[_ENTRY.size :]
    elif page.more:
        old, value = value[-_ENTRY.size :], value[: -_ENTRY.size]
    return (b"<" + old + new if window.backward else b">" + new + old) + value


def page_range_in(value: bytes) -> tuple[Position, Position, tuple[Position, ...]]:
    """The position before its entries, the one after them, and the entries."""
    new, old, *entries = _entries(value[1:])
    return (new, old, tuple(entries)) if value[:1] == b">" else (old, new, tuple(entries))


def bytes_of_entries(count: int) -> int:
    """The length of a list value with `count` entries."""
    return 1 + count * _ENTRY.size


def profile_value(profile: Profile) -> bytes:
    account, counts = profile
    public, others = counts[:_PUBLIC], counts[_PUBLIC:]
    value = _PROFILE.pack(_flags_of(account), *public)
    if any(others):
        value += _REMAINING_TOTALS.pack(*counts.numbers[_PUBLIC:])
        value += b"" if counts.absent is None else _ALL_TOTALS.pack(*counts.absent.numbers)
    limit = account.following_limit
    return value if limit is None else value + _LIMIT.pack(limit)


def profiles_in(values: Sequence[bytes]) -> list[Profile]:
    """The profiles of a column of values."""
    joined = b"".join(values)
    if len(joined) == len(values) * _PROFILE.size:  # no value is shorter
        return _short(joined)
    found = _short(b"".join([value[: _PROFILE.size] for value in values]))
    for place, value in enumerate(values):
        if len(value) > _PROFILE.size:
            found[place] = _long(found[place], value)
    return found


def profile_column(values: Sequence[bytes]) -> Sequence[Profile]:
    """The same, as columns of totals if no value holds more than the public totals."""
    joined = b"".join(values)
    if len(joined) != len(values) * _PROFILE.size or any(joined[:: _PROFILE.size]):
        return profiles_in(values)
    totals = list(chain.from_iterable(_PUBLIC_COUNTS.iter_unpack(joined)))
    return PlainColumn({kind: totals[n::_PUBLIC] for n, kind in enumerate(_LISTS)})


def _short(values: bytes) -> list[Profile]:
    """The profiles of values in the shortest format."""
    if len(values) == _PROFILE.size:
        # A list's owner: setting up columns would double the time.
        only = _new(Counts, _PUBLIC_COUNTS.unpack(values) + _NO_REMAINING_TOTALS)
        return [_new(Profile, (_ACCOUNTS[values[0]], only))]
    # By column, without a Python call for each: a page of buttons shows a hundred.
    accounts = map(_ACCOUNTS.__getitem__, values[:: _PROFILE.size])
    totals = map(add, _PUBLIC_COUNTS.iter_unpack(values), repeat(_NO_REMAINING_TOTALS))
    counts = map(_new, repeat(Counts), totals)
    return list(map(_new, repeat(Profile), zip(accounts, counts, strict=True)))


def _long(short: Profile, value: bytes) -> Profile:
    """The profile in a longer value. `short`: its first part, decoded."""
    account, counts = short
    end = len(value)
    if value[0] & _HAS_LIMIT:
        account, end = _limited(value), end - _LIMIT.size
    if end > _ABSENT_AT:
        counts = counts._replace(absent=Counts(*_ALL_TOTALS.unpack_from(value, _ABSENT_AT)))
    if end > _PROFILE.size:
        others = _REMAINING_TOTALS.unpack_from(value, _PROFILE.size)
        counts = Counts._make((*counts[:_PUBLIC], *others, counts.absent))
    return Profile(account, counts)


def _flags_of(account: Account) -> int:
    """The first byte of an account."""
    privacy = account.privacy
    flags = privacy.protected | privacy.following << 1 | privacy.followers << 3
    return flags | (not privacy.present) << 5 | (account.following_limit is not None) << 6


def _account(flags: int) -> Account:
    """The account with this first byte, without its limit."""
    privacy = Privacy(
        protected=bool(flags & 1),
        following=Audience(flags >> 1 & 3),
        followers=Audience(flags >> 3 & 3),
        present=not flags >> 5 & 1,
    )
    return DEFAULT if privacy == DEFAULT.privacy else Account(privacy)


def _limited(value: bytes) -> Account:
    (limit,) = _LIMIT.unpack_from(value, len(value) - _LIMIT.size)
    return replace(_ACCOUNTS[value[0]], following_limit=limit)


def profiles_held(
    users: Sequence[UserId], replies: Sequence[bytes | None]
) -> dict[UserId, Profile]:
    """The profiles of those users whose values are cached."""
    held = {user: value for user, value in zip(users, replies, strict=True) if value}
    return dict(zip(held, profiles_in(list(held.values())), strict=True))


def accounts_in(values: Sequence[bytes]) -> list[Account]:
    """The accounts of a column of values."""
    return [_ACCOUNTS[value[0]] if value[0] < _HAS_LIMIT else _limited(value) for value in values]


def pending_value(ids: Collection[UserId]) -> bytes:
    return b"." + b"".join(i.to_bytes(8, "big") for i in ids)


NOTHING_PENDING = pending_value(())
"""The value of a user without pending writes, as nearly all are."""


def pending_in(value: bytes) -> Collection[UserId]:
    if len(value) == 1:
        return ()  # nearly always
    return frozenset(
        UserId(int.from_bytes(value[i : i + 8], "big")) for i in range(1, len(value), 8)
    )


_ACCOUNTS = list(map(_account, range(2 * _HAS_LIMIT)))
"""By their first byte. Most accounts are the first, which is one object."""
