"""The format of profiles and their accounts. All numbers are big-endian.

profile         1 byte of the account: protected, two audiences (2 bits each), absent, has limit;
                then following, followers, friends (8 each): most users' values end here;
                then, if any is not 0, the other totals; then, if any account in the lists is
                absent, the number of absent ones for all totals (8 each);
                then, if a service has set one, the following limit (4)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from operator import add
from struct import Struct
from typing import Any

from graph.account import DEFAULT, Account
from graph.counts import NO_COUNTS, Counts
from graph.edge import UserId
from graph.lists import ListKind
from graph.privacy import Audience, Privacy
from graph.profile import PlainColumn, Profile

_PUBLIC = 3
"""Number of totals that every viewer may see."""
_PROFILE = Struct(f">B{_PUBLIC}q")
_PUBLIC_COUNTS = Struct(f">x{_PUBLIC}q")
_REMAINING_TOTALS = Struct(f">{len(NO_COUNTS.numbers) - _PUBLIC}q")
_ALL_TOTALS = Struct(f">{len(NO_COUNTS.numbers)}q")
_ABSENT_AT = _PROFILE.size + _REMAINING_TOTALS.size
_LIMIT = Struct(">I")
_HAS_LIMIT = 1 << 6
# Creates named tuples without their constructor, a Python function, which would be a fifth of the
# cost of decoding one.
_new: Callable[..., Any] = tuple.__new__
_NO_REMAINING_TOTALS = NO_COUNTS[_PUBLIC:]
_LISTS = tuple(ListKind)  # iterating over an enum takes six calls


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
        return _decode_short(joined)
    profiles = _decode_short(b"".join([value[: _PROFILE.size] for value in values]))
    for position, value in enumerate(values):
        if len(value) > _PROFILE.size:
            profiles[position] = _decode_long(profiles[position], value)
    return profiles


def profile_column(values: Sequence[bytes]) -> Sequence[Profile]:
    """The profiles of a column of values. If all of them have the default account and only public
    totals, the result is a `PlainColumn`."""
    joined = b"".join(values)
    if len(joined) != len(values) * _PROFILE.size or any(joined[:: _PROFILE.size]):
        return profiles_in(values)
    totals = list(chain.from_iterable(_PUBLIC_COUNTS.iter_unpack(joined)))
    return PlainColumn({kind: totals[n::_PUBLIC] for n, kind in enumerate(_LISTS)})


def _decode_short(values: bytes) -> list[Profile]:
    """The profiles of values in the shortest format."""
    if len(values) == _PROFILE.size:
        # One profile, as of a list's owner: decoding by column would double the time.
        counts_of_one = _new(Counts, _PUBLIC_COUNTS.unpack(values) + _NO_REMAINING_TOTALS)
        return [_new(Profile, (_ACCOUNTS[values[0]], counts_of_one))]
    # By column, without a Python call for each profile, because a request may read a hundred.
    accounts = map(_ACCOUNTS.__getitem__, values[:: _PROFILE.size])
    totals = map(add, _PUBLIC_COUNTS.iter_unpack(values), repeat(_NO_REMAINING_TOTALS))
    counts = map(_new, repeat(Counts), totals)
    return list(map(_new, repeat(Profile), zip(accounts, counts, strict=True)))


def _decode_long(short: Profile, value: bytes) -> Profile:
    """The profile in a longer value. `short`: the profile decoded from the value's first bytes."""
    account, counts = short
    end = len(value)
    if value[0] & _HAS_LIMIT:
        account, end = _account_with_limit(value), end - _LIMIT.size
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


def _account_with_limit(value: bytes) -> Account:
    """The account in a value that ends with a following limit."""
    (limit,) = _LIMIT.unpack_from(value, len(value) - _LIMIT.size)
    return replace(_ACCOUNTS[value[0]], following_limit=limit)


def profiles_by_user(
    users: Sequence[UserId], replies: Sequence[bytes | None]
) -> dict[UserId, Profile]:
    """The profiles of those users whose values are cached."""
    cached = {user: value for user, value in zip(users, replies, strict=True) if value}
    return dict(zip(cached, profiles_in(list(cached.values())), strict=True))


def accounts_in(values: Sequence[bytes]) -> list[Account]:
    """The accounts of a column of values."""
    return [
        _ACCOUNTS[value[0]] if value[0] < _HAS_LIMIT else _account_with_limit(value)
        for value in values
    ]


_ACCOUNTS = list(map(_account, range(2 * _HAS_LIMIT)))
"""The accounts without following limits, by the first byte of a value. The default account, which
most users have, is one object."""
