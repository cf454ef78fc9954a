"""From what a caller wrote to what the use cases take. Bad input is named, never cut."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from strawberry import UNSET

from graph.cursor import read_cursor
from graph.edge import MAX_DIGITS, UserId, user_id_of
from graph.errors import BadInput
from graph.page import NEWEST, OLDEST, ListKind, Window
from resolvers.scope import Limits

T = TypeVar("T")


class Paging(NamedTuple):
    """Relay's four arguments; what was not given is None."""

    first: int | None
    after: str | None
    last: int | None
    before: str | None


def paging(first: int | None, after: str | None, last: int | None, before: str | None) -> Paging:
    """The arguments as Strawberry gives them: what was not given is UNSET."""
    return Paging(_given(first), _given(after), _given(last), _given(before))


def user_id(argument: str, text: str) -> UserId:
    """The user id that `text` is.

    Raises:
        BadInput: it is none.
    """
    found = user_id_of(text)
    if found is None:
        raise BadInput(
            argument, f'"{_shown(text)}" is not a user id: use a decimal number from 1 to 2^63-1.'
        )
    return found


def user_ids(argument: str, texts: Sequence[str], most: int) -> list[UserId]:
    """As many user ids as `texts`, in their order, at most `most`."""
    if len(texts) > most:
        raise BadInput(argument, f"{len(texts)} ids are too many: ask for at most {most} at once.")
    if _are_surely_ids(texts):
        return list(map(int, texts))  # type: ignore[arg-type]
    return [user_id(argument, text) for text in texts]


def _are_surely_ids(texts: Sequence[str]) -> bool:
    """Whether all are ids, and short ones: a few looks at all instead of many at each."""
    together = "".join(texts)
    return (
        together.isascii()
        and together.isdecimal()
        and min(texts) >= "1"  # empty ones and leading zeros come before it
        and max(map(len, texts)) < MAX_DIGITS
    )


def window(
    kind: ListKind,
    owner: UserId,
    limits: Limits,
    paging: Paging,
) -> Window:
    """The part of `owner`'s list that Relay's four arguments mean."""
    first, after, last, before = paging
    if first is not None and last is not None:
        raise BadInput("first", "give either `first` or `last`, not both.")
    argument, size = ("first", first) if last is None else ("last", last)
    return Window(
        size=page_size(argument, size, limits),
        after=NEWEST if after is None else read_cursor("after", after, kind, owner),
        before=OLDEST if before is None else read_cursor("before", before, kind, owner),
        backward=last is not None,
    )


def page_size(argument: str, size: int | None, limits: Limits) -> int:
    """How many entries were asked for."""
    size = limits.page_default if size is None else size
    if not 0 <= size <= limits.page_max:
        raise BadInput(argument, f"{size} is out of range: use 0 to {limits.page_max}.")
    return size


def _given(value: T | None) -> T | None:
    return None if value is UNSET else value


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"
