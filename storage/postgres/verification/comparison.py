"""Compares parts of the graph: the rows of both directions, the counts, and what erasures leave.

Every statement reads a bounded number of rows through a primary key, so a graph of any size needs
little memory and does not hold back vacuum. On plain PostgreSQL, each comparison reads one
snapshot. On Citus, no snapshot covers two machines, so rows and counts that differ are read again:
a difference that a concurrent change has caused is then gone, or has another value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graph.edge import Pair, UserId
from storage.postgres import sql
from storage.postgres.citus.distribution import is_distributed
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.connector import Connection
from storage.postgres.verification.parts import (
    HIGHEST,
    LOWEST,
    NO_ROW,
    DifferingPair,
    Digest,
    Direction,
    ForwardRow,
    Key,
    LostMember,
    Part,
    UserRange,
)
from storage.postgres.verification.tallies import AllCounts, Tally, lasting_differences

ROWS_AT_ONCE = 20_000
"""Rows that are compared in one part, which takes some tens of milliseconds."""
DIGEST_BATCH_ROWS = 250_000
"""Rows of a digest, which takes about as long as a part: they are only read and hashed."""
USERS_AT_ONCE = 500
"""Users in a part of the counts or of the erased accounts."""
COUNTED_USERS = 10_000
"""Users whose counts one statement checks, before those that may differ are compared."""
CITUS_USERS_MAX = 5_000
"""The most users whose rows one part has, on Citus."""
PAIRS_AT_ONCE = 100
"""Pairs that one statement reads again. It returns the rows from any of their sources to any of
their targets."""


@dataclass(frozen=True, slots=True)
class _Statements:
    digest_forward: str
    digest_reverse: str
    compare_forward: str
    compare_forward_on_citus: str
    compare_reverse: str
    compare_reverse_on_citus: str
    recheck_forward: str
    recheck_reverse: str
    suspect_counts: str
    compare_counts: str
    compare_counts_on_citus: str
    next_users: str
    next_forward: str
    next_reverse: str
    next_erased: str
    find_unerased: str
    find_lost_members: str


_SQL = sql.load(_Statements, "verify")


class Comparison:
    """Comparisons on one connection."""

    def __init__(self, connection: Connection, is_citus: bool) -> None:
        self.connection = connection
        self._is_citus = is_citus

    async def digest(self, direction: Direction, after: Key) -> Digest:
        """The digest of the next rows after `after`."""
        is_forward = direction is Direction.FORWARD
        statement = _SQL.digest_forward if is_forward else _SQL.digest_reverse
        last = await self._last_user(direction, after, DIGEST_BATCH_ROWS)
        row = await self.connection.fetchrow(statement, *after, last, DIGEST_BATCH_ROWS)
        assert row is not None
        end = _end(direction, row, row["rows"], DIGEST_BATCH_ROWS, last)
        return Digest(row["rows"], row["buckets"] or (), row["digests"] or (), end)

    async def compare_rows(self, direction: Direction, after: Key, buckets: bytes) -> Part:
        """Compare those of the next rows after `after` whose buckets are set in the bitmap
        `buckets`."""
        is_forward = direction is Direction.FORWARD
        last = await self._last_user(direction, after, ROWS_AT_ONCE)
        if self._is_citus:
            forward, reverse = _SQL.compare_forward_on_citus, _SQL.compare_reverse_on_citus
        else:
            forward, reverse = _SQL.compare_forward, _SQL.compare_reverse
        statement = forward if is_forward else reverse
        pairs, compared, end = [], 0, None if last == HIGHEST else Key(last, HIGHEST)
        for row in await self.connection.fetch(statement, *after, last, ROWS_AT_ONCE, buckets):
            row_type, source, target, edge, reverse_row, invalid, pending, row_count = row
            if row_type == "edge":
                pair = Pair(source, target)
                pairs.append(
                    DifferingPair(
                        pair, _edge_or_none(edge), _edge_or_none(reverse_row), invalid, pending
                    )
                )
            else:
                compared, end = row_count, _end(direction, row, row_count, ROWS_AT_ONCE, last)
        if self._is_citus:
            pairs = await self._still_differing(pairs)
        return Part(compared, tuple(pairs), end)

    async def next_range(self, after: UserId, users: int) -> UserRange:
        """The range of the next `users` users after `after`. The last range has no end."""
        counted = await self.next_users(after, users)
        is_end = len(counted) < users
        return UserRange(after, UserId(HIGHEST) if is_end else counted[-1], len(counted), is_end)

    async def counts_may_differ(self, users: UserRange) -> list[UserId]:
        """The users of a range whose counts may differ from their rows."""
        rows = await self.connection.fetch(_SQL.suspect_counts, users.after, users.last)
        return [row["user_id"] for row in rows]

    async def compare_counts(self, users: Sequence[UserId]) -> list[Tally]:
        """The stored and computed counts of those of `users` whose counts differ."""
        if not self._is_citus:
            return await self._tallies(_SQL.compare_counts, users)
        return await lasting_differences(
            partial(self._tallies, _SQL.compare_counts_on_citus), users
        )

    async def next_users(self, after: UserId, users: int) -> list[UserId]:
        """The next users after `after` with a count row; fewer than `users` at the end."""
        rows = await self.connection.fetch(_SQL.next_users, after, users)
        return [row["user_id"] for row in rows]

    async def find_unerased(self, after: UserId) -> tuple[list[UserId], UserId | None]:
        """Check the next erased accounts after `after`. Returns those that have data left, and the
        last account that was checked, None at the end."""
        erased = await self.connection.fetch(_SQL.next_erased, after, USERS_AT_ONCE)
        if not erased:
            return [], None
        wrong = {row["user_id"] for row in erased if row["has_settings"]}
        users = [row["user_id"] for row in erased]
        wrong |= {row["user_id"] for row in await self.connection.fetch(_SQL.find_unerased, users)}
        return sorted(wrong), UserId(users[-1])

    async def find_lost_members(self, after: Key) -> tuple[list[LostMember], Key | None]:
        """Check the next members of groups after `after`, an owner and a member. Returns those
        whose group does not exist, and the last owner and member, None at the end."""
        rows = await self.connection.fetch(_SQL.find_lost_members, *after, ROWS_AT_ONCE)
        end = Key(rows[-1]["user_id"], rows[-1]["target_id"]) if len(rows) == ROWS_AT_ONCE else None
        # There may be more groups of the last member after these rows, so the next part begins with
        # this member.
        complete = [row for row in rows if (row["user_id"], row["target_id"]) != end] or rows
        if end is not None:
            end = Key(complete[-1]["user_id"], complete[-1]["target_id"])
        lost = [LostMember(*list(row)[:3]) for row in complete if row["is_lost"]]
        return lost, end

    async def forward_rows(self, pairs: Sequence[Pair]) -> Mapping[Pair, "ForwardRow"]:
        """The forward rows of at most `PAIRS_AT_ONCE` pairs, and whether each has a pending change.
        Pairs with neither are left out; other pairs of the same users may be included."""
        rows = await self.connection.fetch(_SQL.recheck_forward, *_sources_and_targets(pairs))
        return {
            Pair(row["from_user_id"], row["to_user_id"]): ForwardRow(_edge_in(row), row["pending"])
            for row in rows
        }

    async def reverse_rows(self, pairs: Sequence[Pair]) -> Mapping[Pair, tuple[int, ...] | None]:
        """The reverse rows of at most `PAIRS_AT_ONCE` pairs; other pairs of the same users may be
        included."""
        rows = await self.connection.fetch(_SQL.recheck_reverse, *_sources_and_targets(pairs))
        return {Pair(row["from_user_id"], row["to_user_id"]): _edge_in(row) for row in rows}

    async def _still_differing(self, pairs: Sequence[DifferingPair]) -> list[DifferingPair]:
        """Those of the pairs that still differ when they are read again. A change during these
        reads is not taken for a difference: it alters the forward row between its two reads, or is
        pending before the reverse row is read."""
        differing = []
        for first in range(0, len(pairs), PAIRS_AT_ONCE):
            batch = pairs[first : first + PAIRS_AT_ONCE]
            keys = [pair.pair for pair in batch]
            forward = await self.forward_rows(keys)
            reverse = await self.reverse_rows(keys)
            forward_again = await self.forward_rows(keys)
            for pair in batch:
                row, reverse_row = forward.get(pair.pair, NO_ROW), reverse.get(pair.pair)
                if row == forward_again.get(pair.pair, NO_ROW) and (
                    pair.invalid or _differ(row.edge, reverse_row)
                ):
                    pair_again = replace(
                        pair, forward=row.edge, reverse=reverse_row, pending=row.is_pending
                    )
                    differing.append(pair_again)
        return differing

    async def _tallies(self, statement: str, users: Sequence[UserId]) -> list[Tally]:
        rows = await self.connection.fetch(statement, users)
        tallies = [
            Tally(user, AllCounts(*counts[::2]), AllCounts(*counts[1::2])) for user, *counts in rows
        ]
        return [tally for tally in tallies if tally.stored != tally.computed]

    async def _last_user(self, direction: Direction, after: Key, rows: int) -> int:
        """The last user whose rows the part after `after` may have. On plain PostgreSQL there is no
        such limit: the statement itself stops after `rows` rows."""
        if not self._is_citus:
            return HIGHEST
        is_forward = direction is Direction.FORWARD
        statement = _SQL.next_forward if is_forward else _SQL.next_reverse
        # If the last part ended within the rows of a user, this part begins with the same user.
        after_user = after.owner - 1 if after.other not in (LOWEST, HIGHEST) else after.owner
        last = await self.connection.fetchval(statement, after_user, CITUS_USERS_MAX, rows)
        return HIGHEST if last is None else int(last)


async def comparison_on(connection: Connection) -> Comparison:
    """A `Comparison` on a connection to plain PostgreSQL or Citus."""
    return Comparison(connection, await is_distributed(connection))


def _end(
    direction: Direction, last_row: Record, rows: int, limit: int, last_user: int
) -> Key | None:
    """The key after which the next part begins; None at the end of the table."""
    if rows == limit:
        source, target = last_row["from_user_id"], last_row["to_user_id"]
        return Key(source, target) if direction is Direction.FORWARD else Key(target, source)
    return None if last_user == HIGHEST else Key(last_user, HIGHEST)


def _differ(forward: tuple[int, ...] | None, reverse: tuple[int, ...] | None) -> bool:
    """Whether two rows differ. A tombstone equals a missing row."""
    return forward != reverse and any(row is not None and row[0] for row in (forward, reverse))


def _sources_and_targets(pairs: Sequence[Pair]) -> tuple[list[UserId], list[UserId]]:
    return list({pair.source for pair in pairs}), list({pair.target for pair in pairs})


def _edge_in(row: Record) -> tuple[int, ...] | None:
    if row["kind"] is None:
        return None
    return row["kind"], row["flags"], row["since"], row["version"]


def _edge_or_none(columns: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if columns is None else tuple(columns)
