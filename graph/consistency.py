"""What a reader may insist on: that all writes up to a moment have arrived. As opaque text, too.

A moment says nothing of who wrote what. It names the lanes towards both users of a change,
whichever of their edges that was about, and a time by the database's clock when it had surely been
made. So a token tells its holder nothing, and any number of changes fit into the same few
characters.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import crc32
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

from graph.edge import Pair
from graph.errors import BadToken
from graph.lane import LANES, Lane, lane_of

VERSION = 1
_BODY = Struct(">BHQ")
_CHECKED = Struct(f">{_BODY.size}sI")
LENGTH = _CHECKED.size // 3 * 4
"""Version, lanes, time and check are 15 bytes: 20 characters, and no padding."""

AT_MAX = 2**63 - 1


class Moment(NamedTuple):
    """Everything that was written by `at` towards the users of these lanes; and, of no lanes, what
    was said by then of accounts themselves, which needs none to arrive."""

    lanes: frozenset[Lane]
    at: int
    """Microseconds, as versions are."""


def moment_of(pair: Pair, at: int) -> Moment:
    """When a change between two users, made or found by `at`, has arrived on both sides."""
    return Moment(frozenset(map(lane_of, pair)), at)


def moment_of_accounts(at: int) -> Moment:
    """When a change of accounts alone, made or found by `at`, holds everywhere."""
    return Moment(frozenset(), at)


def joined(moments: Iterable[Moment]) -> Moment | None:
    """One moment that is as late as each of these; None: of none."""
    found = list(moments)
    if not found:
        return None
    lanes = frozenset[Lane]().union(*(moment.lanes for moment in found))
    return Moment(lanes, max(moment.at for moment in found))


def by_lane(moments: Iterable[Moment]) -> dict[Lane, int]:
    """Up to when each lane has to have arrived, for all of these to be reached."""
    wanted: dict[Lane, int] = {}
    for lanes, at in moments:
        for lane in lanes:
            wanted[lane] = max(at, wanted.get(lane, at))
    return wanted


def write_token(moment: Moment) -> str:
    """The text of a moment."""
    body = _BODY.pack(VERSION, sum(1 << lane for lane in moment.lanes), moment.at)
    return urlsafe_b64encode(_CHECKED.pack(body, _check(body))).decode()


def read_tokens(argument: str, texts: Sequence[str]) -> list[Moment]:
    """The moments of tokens that `argument` has brought.

    Raises:
        BadToken: one of them is not a token, or has another version.
    """
    return [_moment(argument, text) for text in texts]


def _moment(argument: str, text: str) -> Moment:
    moment = _unpacked(text)
    # base64 has several spellings of the same bytes: only ours is a token.
    if moment is None or write_token(moment) != text:
        raise BadToken(
            argument,
            "is not a valid consistency token. Send a `consistencyToken` exactly as a mutation "
            "returned it.",
        )
    return moment


def _unpacked(text: str) -> Moment | None:
    try:
        raw = urlsafe_b64decode(text) if len(text) == LENGTH else b""
    except ValueError:
        return None
    if len(raw) != _CHECKED.size:
        return None
    body, check = _CHECKED.unpack(raw)
    version, lanes, at = _BODY.unpack(body)
    if version != VERSION or check != _check(body) or not 0 < at <= AT_MAX:
        return None
    if not lanes < 1 << LANES:
        return None
    return Moment(frozenset(Lane(lane) for lane in range(LANES) if lanes >> lane & 1), at)


def _check(body: bytes) -> int:
    # With another number of lanes, the same number means another lane.
    return crc32(body, LANES)
