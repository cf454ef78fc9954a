"""Verifies that the forward rows, reverse rows and counts of a whole graph agree."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.postgres import repair as repair
from storage.postgres.comparison import (
    FIRST,
    Direction,
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
        proof = _Proof(connection, repair, examples, on_progress)
        await proof.walk(Direction.FORWARD)
        await proof.walk(Direction.REVERSE)
        await proof.count()
        await proof.erased()
        return proof.report()


async def users_of_graph(settings: StorageSettings) -> AsyncIterator[Sequence[UserId]]:
    """All users with a count row, some hundred at a time, by id."""
    async with session(settings, "verify") as connection:
        async for users in _users(connection):
            yield users


async def _users(connection: Connection) -> AsyncIterator[Sequence[UserId]]:
    after = BEFORE_ALL
    while users := await next_users(connection, after):
        yield users
        after = users[-1]


class _Proof:
    """One run and its findings so far."""

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

    async def walk(self, direction: Direction) -> None:
        """Compare all rows of one direction with the other."""
        after, self._last_uncounted = FIRST, BEFORE_ALL
        while True:
            part = await compare_rows(self._connection, direction, after)
            self._rows[direction] += part.rows
            await self._check_pairs(part.pairs)
            await self._check_uncounted(part)
            await self._report_progress()
            if part.end is None:
                return
            after = part.end

    async def count(self) -> None:
        """Compare all counts with the rows."""
        async for users in _users(self._connection):
            self._users += len(users)
            await self._check_counts(users)
            await self._report_progress()

    async def erased(self) -> None:
        """Look for remaining data of erased accounts."""
        after: UserId | None = BEFORE_ALL
        while after is not None:
            wrong, after = await find_unerased(self._connection, after)
            for user in wrong:
                self._drifts.of_erased(user)
            if self._repair and wrong:
                self._repaired += await repair.erase_again(self._connection, wrong)
            await self._report_progress()

    async def _check_pairs(self, pairs: Sequence[OddPair]) -> None:
        settled = [odd for odd in pairs if not odd.pending]
        self._pending += len(pairs) - len(settled)
        wrong = [
            odd.pair for odd in settled if self._drifts.of_pair(odd) is not DriftKind.INVALID_EDGE
        ]
        if self._repair and wrong:
            self._repaired += await repair.repair_pairs(self._connection, wrong)

    async def _check_uncounted(self, part: Part) -> None:
        """Compare the counts of users without a count row, whom `count` does not find."""
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
