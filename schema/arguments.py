"""From what a caller wrote to what the use cases take. Bad input is named, never cut."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple, Protocol, TypeVar

import orjson
import strawberry
from strawberry import UNSET

from engine import Outcome
from graph.cursor import read_cursor
from graph.edge import MAX_SINCE, MAX_USER_ID, Millis, Pair, UserId, user_id_of
from graph.errors import BadInput
from graph.page import NEWEST, OLDEST, ListOf, Position, Window
from resolvers.scope import Limits

T = TypeVar("T")
GivenT = TypeVar("GivenT")
SequenceT = TypeVar("SequenceT", bound=Sequence[str])

WINDOWS_HELD = 256
"""Every size, from either end, in the usual order; 100 bytes each."""


class PairOfIds(Protocol):
    """An input that names two users in order."""

    from_: strawberry.ID
    to: strawberry.ID


class Paging(NamedTuple):
    """Relay's four arguments; what was not given is None."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None


def user_id(argument: str, text: str) -> UserId:
    """The user id that `text` is.

    Raises:
        BadInput: it is none.
    """
    found = user_id_of(text)
    if found is None:
        raise BadInput(
            argument, f'"{shown(text)}" is not a user id: use a decimal number from 1 to 2^63-1.'
        )
    return found


def user_ids(argument: str, texts: Sequence[str], most: int) -> list[UserId]:
    """As many user ids as `texts`, in their order, at most `most`."""
    if len(texts) > most:
        raise too_many(argument, len(texts), most)
    if len(texts) > 1 and (numbers := _plain_ids(texts)):
        return numbers
    return [user_id(argument, text) for text in texts]


def at_most(argument: str, texts: SequenceT, most: int) -> SequenceT:
    """The same texts, if they are not too many."""
    if len(texts) > most:
        raise too_many(argument, len(texts), most)
    return texts


def too_many(argument: str, count: int, most: int) -> BadInput:
    """What is said of more than `most` ids."""
    return BadInput(argument, f"{count} ids are too many: ask for at most {most} at once.")


def each_user_id(argument: str, texts: Sequence[str], most: int) -> list[Outcome[UserId]]:
    """One user id, or the BadInput that says why there is none, for each text.

    Raises:
        BadInput: there are more than `most`.
    """
    try:
        return list(user_ids(argument, texts, most))
    except BadInput:
        if len(texts) > most:
            raise
        return [_outcome(user_id, argument, text) for text in texts]


def each_user_pair(argument: str, pairs: Sequence[PairOfIds], most: int) -> list[Outcome[Pair]]:
    """One pair, or the BadInput that says why there is none, for each that was given.

    Raises:
        BadInput: there are more than `most`.
    """
    if len(pairs) > most:
        raise BadInput(
            argument, f"{len(pairs)} pairs are too many: ask for at most {most} at once."
        )
    return [_outcome(_pair, argument, pair) for pair in pairs]


def _pair(argument: str, pair: PairOfIds) -> Pair:
    return Pair(user_id(argument, pair.from_), user_id(argument, pair.to))


def _outcome(read: Callable[[str, GivenT], T], argument: str, given: GivenT) -> Outcome[T]:
    try:
        return read(argument, given)
    except BadInput as error:
        return error


def _plain_ids(texts: Sequence[str]) -> list[UserId]:
    """All the ids, if all are, by a few looks at all instead of many at each; else nothing."""
    joined = ",".join(texts)
    # Bytes tell in a tenth of the time that a text takes whether they are digits.
    if joined.encode(errors="replace").translate(None, b"0123456789") != b"," * (len(texts) - 1):
        return []
    try:
        # JSON spells a number as an id is spelled, without leading zeros: twice as fast as int().
        numbers: list[UserId] = orjson.loads(f"[{joined}]")
    except orjson.JSONDecodeError:
        return []
    # A number of too many digits arrives as a float.
    return numbers if all(numbers) and max(numbers, default=0) <= MAX_USER_ID else []


def window(list_of: ListOf, limits: Limits, paging: Paging) -> Window:
    """The part of a list that Relay's four arguments mean: of its dates, whatever the order."""
    first, after, last, before = paging
    oldest_first = list_of.oldest_first
    whole = _window(first, last, oldest_first, limits.page_default, limits.page_max)
    if after is None and before is None:
        return whole
    start = None if after is None else read_cursor("after", after, list_of)
    end = None if before is None else read_cursor("before", before, list_of)
    newer, older = (end, start) if oldest_first else (start, end)
    return _bounded((whole.size, newer or NEWEST, older or OLDEST, whole.backward))


# Not by name: that would take half of what reading a cursor does.
_bounded: Callable[[tuple[int, Position, Position, bool]], Window] = partial(tuple.__new__, Window)


@lru_cache(WINDOWS_HELD)
def _window(
    first: int | None, last: int | None, oldest_first: bool, default: int, most: int
) -> Window:
    """The same where no cursor is given: all pages of one size ask for one window."""
    if first is not None and last is not None:
        raise BadInput("first", "give either `first` or `last`, not both.")
    argument, size = ("first", first) if last is None else ("last", last)
    return Window(
        _size(argument, size, default, most), backward=(last is not None) is not oldest_first
    )


def page_size(argument: str, size: int | None, limits: Limits) -> int:
    """How many entries were asked for."""
    return _size(argument, size, limits.page_default, limits.page_max)


def _size(argument: str, size: int | None, default: int, most: int) -> int:
    size = default if size is None else size
    if not 0 <= size <= most:
        raise BadInput(argument, f"{size} is out of range: use 0 to {most}.")
    return size


def zoned(argument: str, date: datetime) -> datetime:
    """The same date, if it has its time zone: nobody guesses it."""
    if date.tzinfo is None:
        raise BadInput(argument, "it has no time zone; end it with Z, or with an offset.")
    return date


def moment(argument: str, date: datetime) -> Millis:
    """The first whole millisecond that is not before a date."""
    millis = -((_EPOCH - zoned(argument, date)) // timedelta(milliseconds=1))
    return Millis(min(max(millis, 0), MAX_SINCE))


_EPOCH = datetime.fromtimestamp(0, UTC)


def given(value: T | None) -> T | None:
    """What was given; None for what was not."""
    return None if value is UNSET else value


def shown(text: str) -> str:
    """As much of what was given as an error repeats."""
    return text if len(text) <= 40 else text[:40] + "…"
