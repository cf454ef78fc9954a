"""Consistency tokens: opaque texts that name the writes a read must include.

A token holds the lane groups of both users of each change, whichever of their edges changed, and a
time of the database's clock by which the change was committed. It does not reveal who wrote what,
and its length does not depend on the number of changes.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

from graph.edge import Pair
from graph.errors import BadToken
from graph.lane import LANE_GROUPS, LANES, Lane, lane_of
from graph.space import current_tag

VERSION = 1
_BODY = Struct(">BHQ")
_WITH_CHECKSUM = Struct(f">{_BODY.size}sI")
LENGTH = _WITH_CHECKSUM.size // 3 * 4
"""Version, lane groups, time and checksum are 15 bytes: 20 characters without padding."""

AT_MAX = 2**63 - 1

ACCOUNTS_CACHED_S = 300
"""The time to live of cached accounts. If an invalidation is lost, the old account is read for
about this long: `resolvers.freshness` adds some seconds for a reader that fills the cache late."""

_MAY_BE_STALE = 1 << 15
"""The bit of `Moment.may_be_stale_in_cache`, beside one bit for each lane group."""


class Moment(NamedTuple):
    """The changes that a read must include: all changes of edges towards users of these lane groups
    that were committed by `at`. Without lane groups: all changes of account states by `at`, which
    are in no lane."""

    lane_groups: frozenset[Lane]
    at: int
    """Microseconds, like versions."""
    may_be_stale_in_cache: bool = False
    """Whether a cache may hold an old account until its time to live ends, because the cache could
    not be updated."""


def moment_of(pair: Pair, at: int) -> Moment:
    """The moment that includes all changes between two users that were committed by `at`."""
    return Moment(frozenset(map(lane_of, pair)), at)


def moment_of_accounts(at: int, *, may_be_stale_in_cache: bool = False) -> Moment:
    """The moment that includes all changes of accounts, but not of edges, committed by `at`."""
    return Moment(frozenset(), at, may_be_stale_in_cache)


def merge_moments(moments: Iterable[Moment]) -> Moment | None:
    """The earliest moment that includes all of these; None if there are none.

    They must be all of edges or all of accounts: a merged moment with lane groups no longer
    requires changes of accounts.
    """
    merged: Moment | None = None
    for moment in moments:
        if merged is None:
            merged = moment  # the usual case: there is one
        else:
            groups, at = merged.lane_groups | moment.lane_groups, max(merged.at, moment.at)
            merged = Moment(
                groups, at, merged.may_be_stale_in_cache or moment.may_be_stale_in_cache
            )
    return merged


def by_lane_group(moments: Iterable[Moment]) -> dict[Lane, int]:
    """The watermark that each lane group must reach to include all of these moments."""
    required: dict[Lane, int] = {}
    for groups, at, _ in moments:
        for group in groups:
            required[group] = max(at, required.get(group, at))
    return required


def write_token(moment: Moment) -> str:
    """The token of a moment."""
    flags = _MAY_BE_STALE * moment.may_be_stale_in_cache + sum(
        [1 << group for group in moment.lane_groups]
    )
    body = _BODY.pack(VERSION, flags, moment.at)
    return urlsafe_b64encode(_WITH_CHECKSUM.pack(body, _checksum(body))).decode()


def read_tokens(argument: str, texts: Sequence[str]) -> list[Moment]:
    """The moments of the tokens in `argument`.

    Raises:
        BadToken: a text is not a token, or has another version.
    """
    return [_read_token(argument, text) for text in texts]


def _read_token(argument: str, text: str) -> Moment:
    moment = _unpack(text)
    # Several base64 texts decode to the same bytes. Only the canonical one is valid.
    if moment is None or write_token(moment) != text:
        raise BadToken(
            argument,
            "is not a valid consistency token. Send a `consistencyToken` exactly as a mutation "
            "returned it.",
        )
    return moment


def _unpack(text: str) -> Moment | None:
    """The moment in a token. None: it is damaged, or from another version, space or number of lane
    groups."""
    try:
        raw = urlsafe_b64decode(text) if len(text) == LENGTH else b""
    except ValueError:
        return None
    if len(raw) != _WITH_CHECKSUM.size:
        return None
    body, checksum = _WITH_CHECKSUM.unpack(raw)
    version, flags, at = _BODY.unpack(body)
    groups = flags & ~_MAY_BE_STALE
    if version != VERSION or checksum != _checksum(body) or not 0 < at <= AT_MAX:
        return None
    if not groups < 1 << LANES:
        return None
    named = frozenset(group for group in LANE_GROUPS if groups >> group & 1)
    return Moment(named, at, may_be_stale_in_cache=flags != groups)


def _checksum(body: bytes) -> int:
    # Seeded with the number of lane groups, because another number maps users to other groups,
    # and with the space, because its watermarks say nothing about another space.
    return crc32(body, LANES ^ current_tag())
