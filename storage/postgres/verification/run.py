"""One run of a verification: it compares parts of the graph, and collects what it finds."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from graph.edge import UserId
from storage.postgres.verification import comparison, repair
from storage.postgres.verification.comparison import Comparison
from storage.postgres.verification.digests import ALL_BUCKETS, Digests
from storage.postgres.verification.drift import Drift, DriftKind, Drifts
from storage.postgres.verification.parts import FIRST, LOWEST, Direction, Key, OddPair, UserRange

BEFORE_ALL = UserId(LOWEST)
ODD_USERS_MAX = 100_000
"""The maximum number of users of differing pairs that a run stores, to compare their counts with
forward rows."""


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


class Phase(IntEnum):
    """The parts of a comparison, in this order."""

    FORWARD = 0
    REVERSE = 1
    COUNTS = 2
    ERASED = 3
    GROUPS = 4


class Position(NamedTuple):
    """How far a run has come: the key after which the phase goes on. For counts and erased accounts
    it is a user, and the second half is unused. For groups it is an owner and a member."""

    phase: Phase
    after: Key


START = Position(Phase.FORWARD, FIRST)


class UserRanges:
    """All users in ranges, for several connections."""

    def __init__(self) -> None:
        self._taking = asyncio.Lock()
        self._last: UserRange | None = None

    async def next(self, rows: Comparison) -> UserRange | None:
        async with self._taking:
            if self._last is not None and self._last.is_end:
                return None
            after = self._last.last if self._last else BEFORE_ALL
            self._last = await rows.next_range(after, comparison.COUNTED_USERS)
            return self._last


class VerifyRun:
    """One run, or a slice of it, and its findings so far."""

    def __init__(
        self,
        repair: bool,
        examples: int,
        on_progress: OnVerifyProgress | None,
    ) -> None:
        self._repair = repair
        self._drifts, self._on_progress = Drifts(examples), on_progress
        self._rows: Counter[Direction] = Counter()
        self._users = self._pending_edges = self._repaired = 0
        self._users_to_recount: set[UserId] = set()

    def report(self) -> VerifyReport:
        return VerifyReport(
            self._rows[Direction.FORWARD],
            self._rows[Direction.REVERSE],
            self._users,
            self._pending_edges,
            self._drifts.found(),
            self._repaired,
        )

    @property
    def compared(self) -> int:
        """Number of rows and users compared."""
        return self._rows.total() + self._users

    async def digest(self, rows: Comparison, direction: Direction, digests: Digests) -> None:
        """Add all rows of one direction to the digests."""
        after: Key | None = FIRST
        while after is not None:
            part = await rows.digest(direction, after)
            await asyncio.to_thread(digests.add, part.buckets, part.digests)
            self._rows[direction] += part.rows
            await self._report_progress()
            after = part.end

    async def count(self, rows: Comparison, ranges: "UserRanges") -> None:
        """Compare the counts of ranges of users until there is none left."""
        while (users := await ranges.next(rows)) is not None:
            await self._compare_range(rows, users)
            await self._report_progress()

    async def compare(self, rows: Comparison, start: Position, buckets: bytes | None) -> None:
        """Compare a whole phase. `buckets`: the buckets of pairs whose rows have been counted, and
        are to be compared."""
        position: Position | None = start
        while position is not None and position.phase is start.phase:
            position = await self.advance(rows, position, buckets)

    async def advance(
        self, rows: Comparison, position: Position, buckets: bytes | None = None
    ) -> Position | None:
        """Compare the next part. Returns the position after it, None at the end of the graph."""
        phase, after = position
        if phase is Phase.FORWARD:
            end = await self._compare_rows(rows, Direction.FORWARD, after, buckets)
        elif phase is Phase.REVERSE:
            end = await self._compare_rows(rows, Direction.REVERSE, after, buckets)
        elif phase is Phase.COUNTS:
            end = await self._compare_counts(rows, UserId(after.owner))
        elif phase is Phase.ERASED:
            end = await self._check_erased(rows, UserId(after.owner))
        else:
            end = await self._check_group_members(rows, after)
        await self._report_progress()
        if end is not None:
            return Position(phase, end)
        return None if phase is Phase.GROUPS else Position(Phase(phase + 1), FIRST)

    async def _compare_rows(
        self, rows: Comparison, direction: Direction, after: Key, buckets: bytes | None
    ) -> Key | None:
        """Compare rows of one direction with the other."""
        part = await rows.compare_rows(direction, after, buckets or ALL_BUCKETS)
        if buckets is None:
            self._rows[direction] += part.rows
        await self._check_pairs(rows, part.pairs)
        return part.end

    async def _compare_counts(self, rows: Comparison, after: UserId) -> Key | None:
        """Compare counts with the rows."""
        # A part of `COUNTED_USERS` can take longer than a slice may.
        users = await rows.next_range(after, comparison.USERS)
        await self._compare_range(rows, users)
        return None if users.is_end else Key(users.last, 0)

    async def _compare_range(self, rows: Comparison, users: UserRange) -> None:
        users_to_compare = await rows.counts_may_differ(users)
        self._users += users.counted
        odd = {user for user in self._users_to_recount if users.after < user <= users.last}
        self._users_to_recount -= odd
        users_to_compare = sorted(odd.union(users_to_compare))
        for first in range(0, len(users_to_compare), comparison.USERS):
            await self._check_counts(rows, users_to_compare[first : first + comparison.USERS])

    async def _check_erased(self, rows: Comparison, after: UserId) -> Key | None:
        """Look for remaining data of erased accounts."""
        wrong, end = await rows.find_unerased(after)
        for user in wrong:
            self._drifts.record_erased(user)
        if self._repair and wrong:
            self._repaired += await repair.erase_again(rows.connection, wrong)
        return None if end is None else Key(end, 0)

    async def _check_group_members(self, rows: Comparison, after: Key) -> Key | None:
        """Look for group members whose group does not exist."""
        lost, end = await rows.find_lost_members(after)
        for member in lost:
            self._drifts.record_member(member)
        if self._repair and lost:
            self._repaired += await repair.delete_lost_members(rows.connection, lost)
        return end

    async def _check_pairs(self, rows: Comparison, pairs: Sequence[OddPair]) -> None:
        applied = [odd for odd in pairs if not odd.pending]
        self._pending_edges += len(pairs) - len(applied)
        wrong = [
            odd.pair
            for odd in applied
            if self._drifts.record_pair(odd) is not DriftKind.INVALID_EDGE
        ]
        # Their counts may agree with a reverse row that is wrong.
        if len(self._users_to_recount) < ODD_USERS_MAX:
            self._users_to_recount.update(user for pair in wrong for user in pair)
        if self._repair and wrong:
            self._repaired += await repair.repair_pairs(rows, wrong)

    async def _check_counts(self, rows: Comparison, users: Sequence[UserId]) -> None:
        wrong = await rows.compare_counts(users)
        for tally in wrong:
            self._drifts.record_counts(tally)
        if self._repair and wrong:
            self._repaired += await repair.repair_users(rows, [tally.user for tally in wrong])

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
