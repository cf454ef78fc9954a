"""Some users of a space, kept in each process.

They are spread evenly over the ids, so writes need not maintain anything for the sample. On Citus,
the statements run on all shards: a process runs them at most once in some minutes, or in some
seconds while the space is small, and only when a request needs the users.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres

SAMPLED_MAX = 50
KEPT_S = 600.0
"""How long a sample of `SAMPLED_MAX` users is kept."""
SMALL_KEPT_S = 5.0
"""How long a sample of fewer users is kept: the space is small and may be growing."""


@dataclass(frozen=True, slots=True)
class _Statements:
    bounds: str
    next_user: str


_SQL = sql.load(_Statements, "sampled_users")


class PostgresSampledUsers:
    """Implements `storage.ports.suggestions.SampledUsers`."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._sample: Sequence[UserId] = ()
        self._kept_until = float("-inf")
        self._reading = asyncio.Lock()

    async def now(self) -> Sequence[UserId]:
        async with self._reading:  # one task reads, the others wait for it
            if time.monotonic() >= self._kept_until:
                self._sample = await self._read()
                is_small = len(self._sample) < SAMPLED_MAX
                self._kept_until = time.monotonic() + (SMALL_KEPT_S if is_small else KEPT_S)
        return self._sample

    async def _read(self) -> Sequence[UserId]:
        """From each of `SAMPLED_MAX` ids, evenly spaced between the lowest and the highest, the
        next user. Users may coincide, so there may be fewer."""
        bounds = await self._postgres.row(_SQL.bounds)
        if bounds is None or bounds["lowest"] is None:
            return ()
        lowest, width = bounds["lowest"], bounds["highest"] - bounds["lowest"]
        users: dict[UserId, None] = {}
        for number in range(SAMPLED_MAX):
            lowest_id = lowest + width * number // (SAMPLED_MAX - 1)
            row = await self._postgres.row(_SQL.next_user, lowest_id)
            if row is not None:
                users[UserId(row["user_id"])] = None
        return tuple(users)
