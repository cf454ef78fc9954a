"""Proves over a whole graph that forward rows, reverse rows and counts say the same.

Knows nothing of the caches: `users_of_graph` gives whoever does the users to look at.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.postgres import repair as mending
from storage.postgres.comparison import (
    FIRST,
    Direction,
    OddPair,
    Part,
    compare_counts,
    compare_erased,
    compare_rows,
    next_users,
)
from storage.postgres.connections import Connection
from storage.postgres.drift import Drift, DriftKind, Drifts
from storage.postgres.session import session
from storage.settings import StorageSettings

BEFORE_ALL = UserId(-(2**63))


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was compared and what was wrong. `pending` edges were on their way, and left out.

    `repaired` pairs and users were looked at again and mended; a second run says whether all is
    well now.
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
    """How far it is; both directions are walked before the counts."""

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
    """Walks the graph of a space while others may go on writing.

    Raises:
        Unavailable: PostgreSQL went away, or others held what is to be mended for too long.
    """
    async with session(settings, "verify") as connection:
        proof = _Proof(connection, repair, examples, on_progress)
        await proof.walk(Direction.FORWARD)
        await proof.walk(Direction.REVERSE)
        await proof.count()
        await proof.erased()
        return proof.report()


async def users_of_graph(settings: StorageSettings) -> AsyncIterator[Sequence[UserId]]:
    """Everybody who has a count, some hundred at a time, by id."""
    async with session(settings, "verify") as connection:
        async for users in _users(connection):
            yield users


async def _users(connection: Connection) -> AsyncIterator[Sequence[UserId]]:
    after = BEFORE_ALL
    while users := await next_users(connection, after):
        yield users
        after = users[-1]


class _Proof:
    """One run, and what it has found so far."""

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
        """Compares all rows of one direction with the other."""
        after, self._last_uncounted = FIRST, BEFORE_ALL
        while True:
            part = await compare_rows(self._connection, direction, after)
            self._rows[direction] += part.rows
            await self._judge_pairs(part.pairs)
            await self._judge_uncounted(part)
            await self._tell()
            if part.end is None:
                return
            after = part.end

    async def count(self) -> None:
        """Compares all counts with the rows."""
        async for users in _users(self._connection):
            self._users += len(users)
            await self._judge_counts(users)
            await self._tell()

    async def erased(self) -> None:
        """Looks whether anything is left of accounts that were erased."""
        after: UserId | None = BEFORE_ALL
        while after is not None:
            wrong, after = await compare_erased(self._connection, after)
            for user in wrong:
                self._drifts.of_erased(user)
            if self._repair and wrong:
                self._repaired += await mending.erase_again(self._connection, wrong)
            await self._tell()

    async def _judge_pairs(self, pairs: Sequence[OddPair]) -> None:
        settled = [odd for odd in pairs if not odd.pending]
        self._pending += len(pairs) - len(settled)
        wrong = [
            odd.pair for odd in settled if self._drifts.of_pair(odd) is not DriftKind.INVALID_EDGE
        ]
        if self._repair and wrong:
            self._repaired += await mending.mend_pairs(self._connection, wrong)

    async def _judge_uncounted(self, part: Part) -> None:
        """Who has no count row at all is not among the users that `count` walks."""
        users = [user for user in part.uncounted if user > self._last_uncounted]
        if users:
            self._last_uncounted = max(users)
            await self._judge_counts(users)

    async def _judge_counts(self, users: Sequence[UserId]) -> None:
        wrong = [t for t in await compare_counts(self._connection, users) if t.differs]
        for tally in wrong:
            self._drifts.of_user(tally)
        if self._repair and wrong:
            mended = await mending.mend_users(self._connection, [tally.user for tally in wrong])
            self._repaired += mended

    async def _tell(self) -> None:
        if self._on_progress is not None:
            await self._on_progress(
                VerifyProgress(
                    self._rows[Direction.FORWARD],
                    self._rows[Direction.REVERSE],
                    self._users,
                    self._drifts.total,
                )
            )
