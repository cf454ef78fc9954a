"""The values, nulls and errors of the fields in `zoo_schema`, fixed for each number."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum
from typing import Any, NamedTuple, NewType

import strawberry

START = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)


class Broken(Exception):
    """The error that resolvers raise."""


def luck(number: int, what: str) -> int:
    """0 to 9, always the same for the same number and field."""
    return (number * 31 + sum(map(ord, what))) % 10


def fated(number: int, what: str, value: Any) -> Any:
    """The value, null or an exception, depending on `luck`."""
    roll = luck(number, what)
    if roll == 0:
        return Broken(f"{what} of {number}")
    return None if roll == 1 else value


class OwnZone(tzinfo):
    """A time zone without a hash, and without an offset on the 29th."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def utcoffset(self, moment: datetime | None) -> timedelta:
        if moment and moment.day == 29:
            raise StopIteration("no offset")
        return timedelta(0)

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "own"


ZONES = [
    *[UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(seconds=1172))] * 2,
    OwnZone(),
]


def raised(outcome: Any) -> Any:
    """Raise `outcome` if it is an exception, or else return it."""
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@strawberry.enum
class Mood(Enum):
    CALM = "c"
    HUNGRY = strawberry.enum_value("h", description="Feed it.")
    CROSS = strawberry.enum_value("x", name="ANGRY")


MOODS = [*Mood, None]

Tag = NewType("Tag", str)


def _tagged(value: Any) -> str:
    if not isinstance(value, str) or value == "bad":
        raise ValueError(f"not a tag: {value!r}")
    return f"#{value}"


TAG = strawberry.scalar(name="Tag", serialize=_tagged, parse_value=_tagged)


class CatRow(NamedTuple):
    """A row that is a named tuple."""

    number: int
    name: str | None
    flags: int

    @property
    def lucky(self) -> list[int]:
        """A list, which has no hash."""
        return [self.number % 3]

    @property
    def last(self) -> int:
        if self.number % 7 == 6:
            raise StopIteration("no last one")
        return self.number
