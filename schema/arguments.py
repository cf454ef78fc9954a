"""Converts arguments into what the use cases take. Invalid input is an error and never shortened;
only dates out of range count as the nearest one that can be stored."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple, Protocol, TypeVar
from unicodedata import category

import orjson
import strawberry
from strawberry import UNSET

from engine import ItemOrError
from graph.cursor import read_cursor
from graph.edge import MAX_DIGITS, MAX_SINCE, MAX_USER_ID, Millis, Pair, UserId, user_id_of
from graph.errors import BadInput, KithError
from graph.lists import ListOf
from graph.page import (
    NEWEST,
    OLDEST,
    Position,
    Window,
)
from graph.relation_version import LENGTH as VERSION_LENGTH
from resolvers.policy import Policy

T = TypeVar("T")
GivenT = TypeVar("GivenT")
ErrorT = TypeVar("ErrorT", bound=KithError)
SequenceT = TypeVar("SequenceT", bound=Sequence[object])

WINDOWS_HELD = 256
"""All page sizes, from either end, in the default order; 100 bytes each."""


class PairOfIds(Protocol):
    """An input that names two users in order."""

    from_: strawberry.ID
    to: strawberry.ID


class Paging(NamedTuple):
    """Relay's four arguments; None for an omitted one."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None


def user_id(argument: str, text: str) -> UserId:
    """Return the user id in `text`.

    Raises:
        BadInput: `text` is not a user id.
    """
    found = user_id_of(text)
    if found is None:
        raise BadInput(
            argument,
            f'accepts only user ids (decimal numbers from 1 to 2^63-1), got "{shortened(text)}".',
        )
    return found


def user_ids(argument: str, texts: Sequence[str], maximum: int) -> list[UserId]:
    """Return the user ids in `texts`, in order.

    Raises:
        BadInput: a text is not a user id, or there are more than `maximum`.
    """
    if len(texts) > maximum:
        raise _too_many(argument, texts, maximum)
    return _plain_ids(texts) or [user_id(argument, text) for text in texts]


def at_most(argument: str, entries: SequenceT, maximum: int) -> SequenceT:
    """Return `entries`. Raises BadInput if there are more than `maximum`."""
    if len(entries) > maximum:
        raise _too_many(argument, entries, maximum)
    return entries


def _too_many(argument: str, entries: Sequence[object], maximum: int) -> BadInput:
    return BadInput(argument, f"must have at most {maximum} entries, got {len(entries)}.")


def each_user_id(argument: str, texts: Sequence[str], maximum: int) -> list[ItemOrError[UserId]]:
    """Return one user id, or one BadInput, for each text.

    Raises:
        BadInput: there are more than `maximum`.
    """
    try:
        return list(user_ids(argument, texts, maximum))
    except BadInput:
        if len(texts) > maximum:
            raise
        return [_item_or_error(user_id, argument, text) for text in texts]


def each_user_pair(
    argument: str, pairs: Sequence[PairOfIds], maximum: int
) -> list[ItemOrError[Pair]]:
    """Return one pair of user ids, or one BadInput, for each pair.

    Raises:
        BadInput: there are more than `maximum`.
    """
    return [_item_or_error(_pair, argument, pair) for pair in at_most(argument, pairs, maximum)]


def _pair(argument: str, pair: PairOfIds) -> Pair:
    return Pair(user_id(argument, pair.from_), user_id(argument, pair.to))


def _item_or_error(
    read: Callable[[str, GivenT], T], argument: str, given: GivenT
) -> ItemOrError[T]:
    try:
        return read(argument, given)
    except BadInput as error:
        return without_traceback(error)


def without_traceback(error: ErrorT) -> ErrorT:
    """The error of one list item, without its traceback.

    The frames of the traceback hold the list with the error: thousands of errors would be cycles,
    which only the garbage collector frees.
    """
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def _plain_ids(texts: Sequence[str]) -> list[UserId]:
    """Return all ids if every text is a user id, else an empty list. Checks all texts at once, for
    speed."""
    # Before they are joined: the document may use a variable of 1 MB a thousand times.
    if sum(map(len, texts)) > MAX_DIGITS * len(texts):
        return []
    joined = ",".join(texts)
    # On bytes, the check for digits takes a tenth of the time that it takes on text.
    if joined.encode(errors="replace").translate(None, b"0123456789") != b"," * (len(texts) - 1):
        return []
    try:
        # JSON numbers look like ids (no leading zeros). orjson is twice as fast as int().
        numbers: list[UserId] = orjson.loads(f"[{joined}]")
    except orjson.JSONDecodeError:
        return []
    # orjson returns a float for a number with too many digits.
    return numbers if all(numbers) and max(numbers, default=0) <= MAX_USER_ID else []


def window(list_of: ListOf, policy: Policy, paging: Paging) -> Window:
    """Return the window of a list for Relay's four arguments, as positions from new to old.

    Raises:
        BadInput: the size is out of range, or both `first` and `last` are given.
        BadCursor: a cursor is invalid, or belongs to another list or order.
    """
    first, after, last, before = paging
    oldest_first = list_of.oldest_first
    whole = _window(first, last, oldest_first, policy.page_default, policy.page_max)
    if after is None and before is None:
        return whole
    start = None if after is None else read_cursor("after", after, list_of)
    end = None if before is None else read_cursor("before", before, list_of)
    newer, older = (end, start) if oldest_first else (start, end)
    return _bounded((whole.size, newer or NEWEST, older or OLDEST, whole.backward))


# The constructor with names takes half as long as reading a cursor.
_bounded: Callable[[tuple[int, Position, Position, bool]], Window] = partial(tuple.__new__, Window)


@lru_cache(WINDOWS_HELD)
def _window(
    first: int | None, last: int | None, oldest_first: bool, default: int, maximum: int
) -> Window:
    """The same without cursors. All pages of one size share one window."""
    if first is not None and last is not None:
        raise BadInput("first", "cannot be combined with `last`. Use only one of them.")
    argument, size = ("first", first) if last is None else ("last", last)
    return Window(
        _size(argument, size, default, maximum), backward=(last is not None) is not oldest_first
    )


def page_size(argument: str, size: int | None, policy: Policy) -> int:
    """Return the requested page size. Raises BadInput if it is out of range."""
    return _size(argument, size, policy.page_default, policy.page_max)


def _size(argument: str, size: int | None, default: int, maximum: int) -> int:
    size = default if size is None else size
    if not 0 <= size <= maximum:
        raise BadInput(argument, f"must be between 0 and {maximum}, got {size}.")
    return size


def text(argument: str, given: str, maximum: int) -> str:
    """Return `given`. Raises BadInput if it is too long or cannot be stored."""
    if len(given) > maximum:
        raise BadInput(argument, f"must have at most {maximum} characters, got {len(given)}.")
    if "\0" in given or (not given.isascii() and any("\ud800" <= c <= "\udfff" for c in given)):
        raise BadInput(argument, "must not contain null characters or surrogates.")
    return given


NOT_IN_A_LINE = frozenset({"Cc", "Zl", "Zp"})
"""Categories of characters that a line must not contain: control characters and separators of lines
and paragraphs."""


def line(argument: str, given: str, maximum: int) -> str:
    """Return `given`. Raises BadInput if it is too long, cannot be stored or is not one line."""
    if any(category(character) in NOT_IN_A_LINE for character in text(argument, given, maximum)):
        raise BadInput(argument, "must not contain control characters, such as line breaks.")
    return given


def relation_version(argument: str, given: str | None) -> str | None:
    """Return the version of a relation, or None if the argument was omitted or null.

    Raises:
        BadInput: the text does not have the form of a version.
    """
    if given is None or given is UNSET:
        return None
    if len(given) != VERSION_LENGTH or not given.isascii():
        raise BadInput(argument, f'must be the `version` of a relation, got "{shortened(given)}".')
    return given


def zoned(argument: str, date: datetime) -> datetime:
    """Return `date`. Raises BadInput if it has no time zone."""
    if date.tzinfo is None:
        raise BadInput(argument, "must have a time zone: end it with `Z` or an offset.")
    return date


def moment(argument: str, date: datetime) -> Millis:
    """Return the first whole millisecond that is not before `date`; of dates before 1970 or after
    MAX_SINCE, the nearer of these two. Raises BadInput if the date has no time zone."""
    millis = -((_EPOCH - zoned(argument, date)) // timedelta(milliseconds=1))
    return Millis(min(max(millis, 0), MAX_SINCE))


_EPOCH = datetime.fromtimestamp(0, UTC)


def given(value: T | None) -> T | None:
    """Return `value`, or None if the argument was omitted."""
    return None if value is UNSET else value


def shortened(text: str) -> str:
    """Return `text`, shortened for an error message."""
    return text if len(text) <= 40 else text[:40] + "…"
