"""Awaiting the pending fields of a level.

The pending fields of one level are awaited concurrently, each with everything below it, so a slow
field delays only its own subtree. Fields that wait for the same future are awaited together.
"""

from asyncio import CancelledError, Future, shield
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.columnar_rows import is_column
from engine.deferred import Deferred
from engine.field import AwaitedSource
from engine.plan import hole_of
from engine.waiting import WaitedInVain, fault_of, let_go, together

if TYPE_CHECKING:
    from engine.field import Column, Rows
    from engine.plan import Hole
    from engine.run import Run

Arrival: TypeAlias = "tuple[Hole, Awaitable[Column]]"
Wait: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


async def arrivals(run: "Run") -> None:
    """Fill all pending fields of the run, and those that appear below them."""
    while run.holes:
        awaited: list[Arrival] = []
        try:
            _ask(run, awaited)
            if len(awaited) == 1 and not isinstance(awaited[0][1], Deferred):
                await _arrived(*awaited[0], run)  # without a task, which costs like a small column
            elif awaited:
                await _all_arrived(awaited, run)
        except BaseException:
            for _, arriving in awaited:
                let_go(arriving)  # those that were started have ended already
            raise


def _ask(run: "Run", awaited: list[Arrival]) -> None:
    """Fill the fields whose columns are known, and add the others to `awaited`."""
    while run.holes:
        holes, run.holes = run.holes, []
        for hole in holes:
            arriving = hole.ask(run)
            if arriving is not None:
                awaited.append((hole, arriving))


async def _all_arrived(awaited: Sequence[Arrival], run: "Run") -> None:
    """Await these concurrently, each with everything below it."""
    waits = _waits(awaited, run)
    if len(waits) == 1:
        await waits[0]()
    else:
        await together([_filled(wait, run) for wait in waits])


def _waits(awaited: Sequence[Arrival], run: "Run") -> list[Wait]:
    """A wait for each of these, and one for all that share a future."""
    waits: list[Wait] = []
    known_with: dict[Future[Any], list[Hole]] = {}
    for hole, arriving in awaited:
        if not isinstance(arriving, Deferred):
            waits.append(partial(_arrived, hole, arriving, run))
            continue
        holes = known_with.get(arriving.known)
        if holes is None:
            holes = known_with[arriving.known] = []
            waits.append(partial(_known, arriving.known, holes, run))
        key, source, cells, rows, table = hole
        holes.append(hole_of((key, _Known(arriving, source), cells, rows, table)))
    return waits


async def _filled(wait: Wait, run: "Run") -> None:
    await wait()
    if run.holes:  # the pending fields of the levels below
        await arrivals(run)


async def _arrived(hole: "Hole", arriving: "Awaitable[Column]", run: "Run") -> None:
    try:
        column = hole.source.checked(await arriving, hole.rows)
    except (Exception, CancelledError) as error:
        column = [fault_of(error)] * len(hole.rows)
    hole.fill(column, run)


async def _known(known: "Future[Any]", holes: "list[Hole]", run: "Run") -> None:
    try:
        await shield(known)  # others may await it too
    except (Exception, CancelledError) as error:
        fault_of(error)  # re-raises a cancellation of this task; the fields see other errors in ask
    run.holes += holes


class _Known(AwaitedSource):
    """Replaces a source after the future of its `Deferred` is done."""

    __slots__ = ("deferred", "source")

    def __init__(self, deferred: "Deferred[Column]", source: AwaitedSource) -> None:
        self.deferred = deferred
        self.source = source

    def ask(self, rows: "Rows", run: "Run") -> "Column | Awaitable[Column]":
        known = self.deferred.known
        if known.cancelled():
            raise WaitedInVain
        known.result()  # raises the field error of every row
        column: Any = self.deferred.column()
        if not is_column(column) and isawaitable(column):
            return column
        return self.source.checked(column, rows)

    def checked(self, column: "Column", rows: "Rows") -> "Column":
        return self.source.checked(column, rows)
