"""A schema whose resolvers and scalars fail in ways that the engine does not expect."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NewType, Optional

import strawberry

from engine import ColumnarRows, MaybeAwaitable, Parents, batched, derived


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("It has no text.")

    @property
    def extensions(self) -> dict[str, Any]:
        raise ValueError("It has no extensions.")


class ClosedProxy:
    """Like a proxy of an object that was closed: even reading its class raises an error."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("nothing behind the proxy")

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise NotImplementedError


class Unreadable:
    def __getattr__(self, name: str) -> Any:
        raise LookupError(f"no {name} here")


class Zone(tzinfo):
    """UTC, but without a hash, and with an optional failure."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure

    def __eq__(self, other: object) -> bool:
        return self is other

    def utcoffset(self, moment: datetime | None) -> timedelta:
        if self.failure:
            raise self.failure
        return timedelta(0)

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "own"


def yields_and_fails() -> Iterator[int]:
    yield 1
    raise KeyError("broken off")


async def events() -> AsyncIterator[int]:
    yield 1


async def cancelled() -> Any:
    """Wait for a future that is cancelled."""
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


START = datetime(2024, 2, 29, tzinfo=UTC)

VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "12",
    "bytes": lambda: b"x",
    "number": lambda: 7,
    "large": lambda: 2**40,
    "huge": lambda: 10**5000,
    "nan": lambda: float("nan"),
    "infinite": lambda: float("-inf"),
    "now": lambda: START,
    "own zone": lambda: START.replace(tzinfo=Zone()),
    "failing zone": lambda: START.replace(tzinfo=Zone(ValueError("no offset"))),
    "stopping zone": lambda: START.replace(tzinfo=Zone(StopIteration("no more"))),
    "empty": list,
    "range": lambda: range(3),
    "set": lambda: {3},
    "mapping": lambda: {1: 2},
    "generator": yields_and_fails,
    "async generator": events,
    "nested": lambda: [[], [1], None, ()],
    "class": lambda: int,
    "error": lambda: KeyError("returned"),
    "stop": lambda: StopIteration("returned"),
    "group": lambda: ExceptionGroup("several", [ValueError("one")]),
    "closed proxy": ClosedProxy,
    "unreadable": Unreadable,
    "row": lambda: OddRow(),
}


def _anything(value: Any) -> Any:
    if value == "stop":
        raise StopIteration("serialised")
    if isinstance(value, str) or (type(value) is int and value < 2**50):
        return value
    raise TypeError(f"not anything: {type(value).__name__}")


def _parsed(value: Any) -> Any:
    if value == "unprintable":
        raise Unprintable
    return _anything(value)


Anything = NewType("Anything", object)
ANYTHING = strawberry.scalar(name="Anything", serialize=_anything, parse_value=_parsed)


class OddRow:
    number = 1
    several = (1, 2)

    def __repr__(self) -> str:
        return "OddRow"

    @property
    def unhashable(self) -> list[int]:
        return [1]

    @property
    def stop(self) -> int:
        raise StopIteration("read")


@strawberry.input(one_of=True)
class One:
    left: strawberry.Maybe[int]
    right: strawberry.Maybe[str]


@strawberry.input
class Deep:
    inner: Optional["Deep"] = None


@strawberry.type
class Odd:
    number: int
    stop: int | None
    length: int = derived("unhashable", len)
    first: int = derived("unhashable", lambda values: values[0])
    derived_stop: int | None = derived("stop", int)

    @batched
    def batch_stop(rows: Parents[Any]) -> list[int | None]:
        raise StopIteration("batch")

    @batched
    async def cancelled_batch(rows: Parents[Any]) -> list[int | None]:
        return await cancelled()  # type: ignore[no-any-return]

    @batched
    def soon_cancelled(rows: Parents[Any]) -> MaybeAwaitable[list[int | None]]:
        return cancelled()

    @strawberry.field
    async def cancelled(self: Any) -> int | None:
        return await cancelled()  # type: ignore[no-any-return]

    @strawberry.field
    async def slow(self: Any) -> int:
        await asyncio.sleep(0)
        return 3

    @strawberry.field
    def root(self: Any) -> "Query":
        return Query()

    @batched
    def short(rows: Parents[Any]) -> list[int | None]:
        return []

    @batched
    def nothing(rows: Parents[Any]) -> list[int | None]:
        return None  # type: ignore[return-value]

    @batched
    def endless(rows: Parents[Any]) -> list[int | None]:
        return itertools.count()  # type: ignore[return-value]

    @batched
    def uneven(rows: Parents[Any]) -> list[list[int] | None]:
        return [ColumnarRows([1], [2, 3]) for _ in rows]  # type: ignore[misc]


def value(name: str) -> Any:
    return VALUES[name]()


@strawberry.type
class Query:
    @strawberry.field
    def moment(self, of: str) -> datetime | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def id(self, of: str) -> strawberry.ID | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def whole(self, of: str) -> int | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def ratio(self, of: str) -> float | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def text(self, of: str) -> str | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def flag(self, of: str) -> bool | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def anything(self, of: str) -> Anything | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def moments(self, of: str) -> list[datetime | None] | None:
        return [value(of), START]

    @strawberry.field
    def ids(self, of: str) -> list[strawberry.ID | None] | None:
        return [value(of), strawberry.ID("3")]

    @strawberry.field
    def numbers(self, of: str) -> list[int | None] | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def lists(self, of: str) -> list[list[int | None] | None] | None:
        return [value(of), [], value(of)]

    @strawberry.field
    def odd(self, of: str = "row") -> Odd | None:
        return value(of)  # type: ignore[no-any-return]

    @strawberry.field
    def odds(self, of: str = "row") -> list[Odd | None] | None:
        return [value(of), value(of)]

    @strawberry.field
    def endless_numbers(self) -> list[int]:
        return itertools.count()  # type: ignore[return-value]

    @strawberry.field
    def endless_nulls(self) -> list[Odd | None]:
        return itertools.repeat(None)  # type: ignore[return-value]

    @strawberry.field
    def raises(self, of: str) -> int | None:
        raise value(of)

    @strawberry.field
    async def raises_later(self, of: str) -> int | None:
        raise value(of)

    @strawberry.field
    def unprintable(self) -> int | None:
        raise Unprintable

    @strawberry.field
    def cancels(self) -> int | None:
        raise asyncio.CancelledError

    @strawberry.field
    def root(self) -> "Query":
        return Query()

    @batched
    def one(roots: Parents[Any], one: One) -> list[str]:
        return [repr(one) for _ in roots]

    @batched
    async def ones(roots: Parents[Any], ones: list[One]) -> list[str]:
        return [repr(ones) for _ in roots]

    @strawberry.field
    def echo(
        self,
        id: strawberry.ID | None = None,  # noqa: A002
        whole: int | None = None,
        ratio: float | None = None,
        lists: list[list[int]] | None = None,
        anything: Anything | None = None,
        deep: Deep | None = None,
    ) -> str:
        return repr((id, whole, ratio, lists, anything, deep))


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def ticks(self) -> AsyncIterator[int]:
        yield 1

    @strawberry.subscription
    async def cancelled(self) -> AsyncIterator[int]:
        yield 1
        await cancelled()

    @strawberry.subscription
    async def unprintable(self) -> AsyncIterator[int]:
        yield 1
        raise Unprintable

    @strawberry.subscription
    async def never_begun(self, unprintable: bool) -> AsyncIterator[int]:
        if unprintable:
            raise Unprintable
        return await cancelled()  # type: ignore[no-any-return]


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def cancelled(self) -> int | None:
        return await cancelled()  # type: ignore[no-any-return]


schema = strawberry.Schema(Query, Mutation, Subscription, scalar_overrides={Anything: ANYTHING})
