"""Verifies that the forward rows, reverse rows and counts of a whole graph agree."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from graph.edge import UserId
from storage.postgres import repair as repair
from storage.postgres.comparison import (
    FIRST,
    Direction,
    Key,
    OddPair,
    Part,
    compare_counts,
    compare_rows,
    find_unerased,
    next_users,
)
from storage.postgres.connections import Connection
from storage.postgres.drift import Drift, DriftKind, Drifts
from storage.postgres.session import session
from storage.settings import StorageSettings

BEFORE_ALL = UserId(-(2**63))


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a run. `pending` edges were waiting in the outbox, and were not compared.

    `repaired` pairs and users were compared again and repaired; run it again to see whether all is
    well.
    """

    forward_rows: int
    reverse_rows: int
    users: int
    pending: int
    drifts: tuple[Drift, ...]
    repaired: int

    @property
    def clean(self) -> bool:
        return not self.drifts


@dataclass(frozen=True, slots=True)
class VerifyProgress:
    """The progress of a run, which compares both directions before the counts."""

    forward_rows: int
    reverse_rows: int
    users: int
    drifts: int


OnVerifyProgress = Callable[[VerifyProgress], Awaitable[None]]


async def verify(
    settings: StorageSettings,
    *,
    repair: bool = False,
    examples: int = 5,
    on_progress: OnVerifyProgress | None = None,
) -> VerifyReport:
    """Compare the whole graph of a space, while writes go on.

    Raises:
        Unavailable: PostgreSQL failed, or other transactions held rows to repair for too long.
    """
    async with session(settings, "verify") as connection:
        run = VerifyRun(connection, repair, examples, on_progress)
        position: Position | None = START
        while position is not None:
            position = await run.advance(position)
        return run.report()


async def users_of_graph(settings: StorageSettings) -> AsyncIterator[Sequence[UserId]]:
    """All users with a count row, some hundred at a time, by id."""
    async with session(settings, "verify") as connection:
        after = BEFORE_ALL
        while users := await next_users(connection, after):
            yield users
            after = users[-1]


class Phase(IntEnum):
    """The parts of a comparison, in this order."""

    FORWARD = 0
    REVERSE = 1
    COUNTS = 2
    ERASED = 3


class Position(NamedTuple):
    """How far a run has come: the key after which the phase goes on. For counts and erased accounts
    it is a user, and the second half is unused."""

    phase: Phase
    after: Key


START = Position(Phase.FORWARD, FIRST)


class VerifyRun:
    """One run, or a slice of it, and its findings so far."""

    def __init__(
        self,
        connection: Connection,
        repair: bool,
        examples: int,
        on_progress: OnVerifyProgress | None,
    ) -> None:
        self._connection, self._repair = connection, repair
        self._drifts, self._on_progress = Drifts(examples), on_progress
        self._rows: Counter[Direction] = Counter()
        self._users = self._pending = self._repaired = 0
        self._last_uncounted = BEFORE_ALL

    def report(self) -> VerifyReport:
        return VerifyReport(
            self._rows[Direction.FORWARD],
            self._rows[Direction.REVERSE],
            self._users,
            self._pending,
            self._drifts.found(),
            self._repaired,
        )

    @property
    def compared(self) -> int:
        """Number of rows and users compared."""
        return self._rows.total() + self._users

    async def advance(self, position: Position) -> Position | None:
        """Compare the next part. Returns the position after it, None at the end of the graph."""
        phase, after = position
        if phase is Phase.FORWARD:
            end = await self._compare_rows(Direction.FORWARD, after)
        elif phase is Phase.REVERSE:
            end = await self._compare_rows(Direction.REVERSE, after)
        elif phase is Phase.COUNTS:
            end = await self._compare_counts(UserId(after.owner))
        else:
            end = await self._compare_erased(UserId(after.owner))
        await self._report_progress()
        if end is not None:
            return Position(phase, end)
        self._last_uncounted = BEFORE_ALL
        return None if phase is Phase.ERASED else Position(Phase(phase + 1), FIRST)

    async def _compare_rows(self, direction: Direction, after: Key) -> Key | None:
        """Compare rows of one direction with the other."""
        part = await compare_rows(self._connection, direction, after)
        self._rows[direction] += part.rows
        await self._check_pairs(part.pairs)
        await self._check_uncounted(part)
        return part.end

    async def _compare_counts(self, after: UserId) -> Key | None:
        """Compare counts with the rows."""
        users = await next_users(self._connection, after)
        if not users:
            return None
        self._users += len(users)
        await self._check_counts(users)
        return Key(users[-1], 0)

    async def _compare_erased(self, after: UserId) -> Key | None:
        """Look for remaining data of erased accounts."""
        wrong, end = await find_unerased(self._connection, after)
        for user in wrong:
            self._drifts.of_erased(user)
        if self._repair and wrong:
            self._repaired += await repair.erase_again(self._connection, wrong)
        return None if end is None else Key(end, 0)

    async def _check_pairs(self, pairs: Sequence[OddPair]) -> None:
        applied = [odd for odd in pairs if not odd.pending]
        self._pending += len(pairs) - len(applied)
        wrong = [
            odd.pair for odd in applied if self._drifts.of_pair(odd) is not DriftKind.INVALID_EDGE
        ]
        if self._repair and wrong:
            self._repaired += await repair.repair_pairs(self._connection, wrong)

    async def _check_uncounted(self, part: Part) -> None:
        """Compare the counts of users without a count row, whom `_compare_counts` does not find."""
        users = [user for user in part.uncounted if user > self._last_uncounted]
        if users:
            self._last_uncounted = max(users)
            await self._check_counts(users)

    async def _check_counts(self, users: Sequence[UserId]) -> None:
        wrong = [t for t in await compare_counts(self._connection, users) if t.differs]
        for tally in wrong:
            self._drifts.of_user(tally)
        if self._repair and wrong:
            repaired = await repair.repair_users(self._connection, [tally.user for tally in wrong])
            self._repaired += repaired

    async def _report_progress(self) -> None:
        if self._on_progress is not None:
            await self._on_progress(
                VerifyProgress(
                    self._rows[Direction.FORWARD],
                    self._rows[Direction.REVERSE],
                    self._users,
                    self._drifts.total,
                )
            )
