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
from storage.postgres.verification.parts import (
    FIRST,
    LOWEST,
    DifferingPair,
    Direction,
    Key,
    UserRange,
)

BEFORE_ALL = UserId(LOWEST)
RECOUNTED_USERS_MAX = 100_000
"""A run that has stored this many users of differing pairs stores no more. The counts of the stored
users are compared with their rows even if they look right."""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of a run. `pending`: edges that differed and had a change that was not applied
    yet, so they are not counted as drift.

    `repaired`: pairs, users and group members that the repair has compared again and corrected, and
    accounts to be erased again. Another run finds out whether drift is left.
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
    """The phases of a run, in this order."""

    FORWARD = 0
    REVERSE = 1
    COUNTS = 2
    ERASED = 3
    GROUPS = 4


class Position(NamedTuple):
    """The progress of a run: the phase, and the key after which it continues. In the phases COUNTS
    and ERASED, the key is a user, and its second half is unused. In the phase GROUPS, it is an
    owner and a member."""

    phase: Phase
    after: Key


START = Position(Phase.FORWARD, FIRST)


class UserRanges:
    """Divides all users into ranges, which several connections take."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._last: UserRange | None = None

    async def next(self, graph: Comparison) -> UserRange | None:
        """The next range; None after the last one. Several connections may call it."""
        async with self._lock:
            if self._last is not None and self._last.is_end:
                return None
            after = self._last.last if self._last else BEFORE_ALL
            self._last = await graph.next_range(after, comparison.COUNTED_USERS)
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
            self._drifts.summary(),
            self._repaired,
        )

    @property
    def compared(self) -> int:
        """Number of rows and users compared."""
        return self._rows.total() + self._users

    async def digest(self, graph: Comparison, direction: Direction, digests: Digests) -> None:
        """Add all rows of one direction to the digests."""
        after: Key | None = FIRST
        while after is not None:
            part = await graph.digest(direction, after)
            await asyncio.to_thread(digests.add, part.buckets, part.digests)
            self._rows[direction] += part.rows
            await self._report_progress()
            after = part.end

    async def compare_all_counts(self, graph: Comparison, ranges: "UserRanges") -> None:
        """Compare the counts of ranges of users until there is none left."""
        while (users := await ranges.next(graph)) is not None:
            await self._compare_range(graph, users)
            await self._report_progress()

    async def compare(self, graph: Comparison, start: Position, buckets: bytes | None) -> None:
        """Compare from `start` to the end of its phase. `buckets`, for the phases FORWARD and
        REVERSE only: a bitmap of the buckets of pairs to compare, whose rows `digest` has counted.
        None: compare and count all rows."""
        position: Position | None = start
        while position is not None and position.phase is start.phase:
            position = await self.advance(graph, position, buckets)

    async def advance(
        self, graph: Comparison, position: Position, buckets: bytes | None = None
    ) -> Position | None:
        """Compare the next part. Returns the position after it; None at the end of the last
        phase."""
        phase, after = position
        if phase is Phase.FORWARD:
            end = await self._compare_rows(graph, Direction.FORWARD, after, buckets)
        elif phase is Phase.REVERSE:
            end = await self._compare_rows(graph, Direction.REVERSE, after, buckets)
        elif phase is Phase.COUNTS:
            end = await self._compare_counts(graph, UserId(after.owner))
        elif phase is Phase.ERASED:
            end = await self._check_erased(graph, UserId(after.owner))
        else:
            end = await self._check_group_members(graph, after)
        await self._report_progress()
        if end is not None:
            return Position(phase, end)
        return None if phase is Phase.GROUPS else Position(Phase(phase + 1), FIRST)

    async def _compare_rows(
        self, graph: Comparison, direction: Direction, after: Key, buckets: bytes | None
    ) -> Key | None:
        """Compare the next rows of one direction with the rows of the other."""
        part = await graph.compare_rows(direction, after, buckets or ALL_BUCKETS)
        if buckets is None:
            self._rows[direction] += part.rows
        await self._check_pairs(graph, part.pairs)
        return part.end

    async def _compare_counts(self, graph: Comparison, after: UserId) -> Key | None:
        """Compare the counts of the next users with their rows."""
        # Not `COUNTED_USERS`, which can take longer than a slice may.
        users = await graph.next_range(after, comparison.USERS_AT_ONCE)
        await self._compare_range(graph, users)
        return None if users.is_end else Key(users.last, 0)

    async def _compare_range(self, graph: Comparison, users: UserRange) -> None:
        users_to_compare = await graph.counts_may_differ(users)
        self._users += users.counted
        to_recount = {user for user in self._users_to_recount if users.after < user <= users.last}
        self._users_to_recount -= to_recount
        users_to_compare = sorted(to_recount.union(users_to_compare))
        for first in range(0, len(users_to_compare), comparison.USERS_AT_ONCE):
            await self._check_counts(
                graph, users_to_compare[first : first + comparison.USERS_AT_ONCE]
            )

    async def _check_erased(self, graph: Comparison, after: UserId) -> Key | None:
        """Look for remaining data of the next erased accounts."""
        wrong, end = await graph.find_unerased(after)
        for user in wrong:
            self._drifts.record_erased(user)
        if self._repair and wrong:
            self._repaired += await repair.erase_again(graph.connection, wrong)
        return None if end is None else Key(end, 0)

    async def _check_group_members(self, graph: Comparison, after: Key) -> Key | None:
        """Look for members of groups that do not exist among the next group members."""
        lost, end = await graph.find_lost_members(after)
        for member in lost:
            self._drifts.record_member(member)
        if self._repair and lost:
            self._repaired += await repair.delete_lost_members(graph.connection, lost)
        return end

    async def _check_pairs(self, graph: Comparison, pairs: Sequence[DifferingPair]) -> None:
        not_pending = [pair for pair in pairs if not pair.pending]
        self._pending_edges += len(pairs) - len(not_pending)
        wrong = [
            pair.pair
            for pair in not_pending
            if self._drifts.record_pair(pair) is not DriftKind.INVALID_EDGE
        ]
        # The counts of these users may agree with the wrong reverse rows.
        if len(self._users_to_recount) < RECOUNTED_USERS_MAX:
            self._users_to_recount.update(user for pair in wrong for user in pair)
        if self._repair and wrong:
            self._repaired += await repair.repair_pairs(graph, wrong)

    async def _check_counts(self, graph: Comparison, users: Sequence[UserId]) -> None:
        wrong = await graph.compare_counts(users)
        for tally in wrong:
            self._drifts.record_counts(tally)
        if self._repair and wrong:
            self._repaired += await repair.repair_users(graph, [tally.user for tally in wrong])

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
