"""Proves over a whole graph that forward rows, reverse rows and counts say the same.

Knows nothing of the caches: `users_of_graph` gives whoever does the users to look at.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from graph.edge import Pair, UserId
from storage.postgres import repair as mending
from storage.postgres.comparison import (
    FIRST,
    Direction,
    OddPair,
    Part,
    Tally,
    compare_counts,
    compare_rows,
    next_users,
)
from storage.postgres.session import Connection, session
from storage.settings import StorageSettings

BEFORE_ALL = UserId(-(2**63))


class DriftKind(Enum):
    """What can be wrong. All but an invalid edge can be mended from the forward rows."""

    INVALID_EDGE = "invalid edge"
    REVERSE_MISSING = "reverse row missing"
    REVERSE_DIFFERS = "reverse row differs"
    REVERSE_EXTRA = "reverse row without an edge"
    FOLLOWING_COUNT = "following count"
    FOLLOWER_COUNT = "follower count"
    FRIEND_COUNT = "friend count"


@dataclass(frozen=True, slots=True)
class Drift:
    """How often one thing is wrong, with the first examples in words."""

    kind: DriftKind
    count: int
    examples: tuple[str, ...]


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
        self._examples_max, self._on_progress = examples, on_progress
        self._rows: Counter[Direction] = Counter()
        self._users = self._pending = self._repaired = 0
        self._counts: Counter[DriftKind] = Counter()
        self._examples: defaultdict[DriftKind, list[str]] = defaultdict(list)

    def report(self) -> VerifyReport:
        return VerifyReport(
            self._rows[Direction.FORWARD],
            self._rows[Direction.REVERSE],
            self._users,
            self._pending,
            tuple(
                Drift(kind, self._counts[kind], tuple(self._examples[kind]))
                for kind in DriftKind
                if self._counts[kind]
            ),
            self._repaired,
        )

    async def walk(self, direction: Direction) -> None:
        """Compares all rows of one direction with the other."""
        after = FIRST
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

    async def _judge_pairs(self, pairs: Sequence[OddPair]) -> None:
        settled = [odd for odd in pairs if not odd.pending]
        self._pending += len(pairs) - len(settled)
        wrong: list[Pair] = []
        for odd in settled:
            kind = _kind(odd)
            self._note(kind, f"{odd.pair.source} to {odd.pair.target}: {_difference(odd)}")
            if kind is not DriftKind.INVALID_EDGE:
                wrong.append(odd.pair)
        if self._repair and wrong:
            self._repaired += await mending.mend_pairs(self._connection, wrong)

    async def _judge_uncounted(self, part: Part) -> None:
        """Who has no count row at all is not among the users that `count` walks."""
        if part.uncounted:
            await self._judge_counts(part.uncounted)

    async def _judge_counts(self, users: Sequence[UserId]) -> None:
        wrong = [t for t in await compare_counts(self._connection, users) if t.differs]
        for tally in wrong:
            for kind, stored, true in _differences(tally):
                self._note(kind, f"{tally.user}: {stored} instead of {true}")
        if self._repair and wrong:
            mended = await mending.mend_users(self._connection, [tally.user for tally in wrong])
            self._repaired += mended

    def _note(self, kind: DriftKind, example: str) -> None:
        self._counts[kind] += 1
        if len(self._examples[kind]) < self._examples_max:
            self._examples[kind].append(example)

    async def _tell(self) -> None:
        if self._on_progress is not None:
            await self._on_progress(
                VerifyProgress(
                    self._rows[Direction.FORWARD],
                    self._rows[Direction.REVERSE],
                    self._users,
                    self._counts.total(),
                )
            )


def _kind(odd: OddPair) -> DriftKind:
    if odd.invalid:
        return DriftKind.INVALID_EDGE
    if odd.forward is None:
        return DriftKind.REVERSE_EXTRA
    return DriftKind.REVERSE_MISSING if odd.reverse is None else DriftKind.REVERSE_DIFFERS


def _difference(odd: OddPair) -> str:
    return f"forward {_words(odd.forward)}, reverse {_words(odd.reverse)}"


def _words(row: tuple[int, ...] | None) -> str:
    return "none" if row is None else "kind {} flags {} since {} version {}".format(*row)


def _differences(tally: Tally) -> Iterable[tuple[DriftKind, int, int]]:
    if tally.following != tally.true_following:
        yield DriftKind.FOLLOWING_COUNT, tally.following, tally.true_following
    if tally.followers != tally.true_followers:
        yield DriftKind.FOLLOWER_COUNT, tally.followers, tally.true_followers
    if tally.friends != tally.true_friends:
        yield DriftKind.FRIEND_COUNT, tally.friends, tally.true_friends
