"""The set of absent accounts, kept in each process.

Few accounts are absent, so each process keeps all of them, and a page or a check of a thousand
relations costs one set lookup. The process reads the changes from PostgreSQL when its set is older
than `age_s`: about twice a second instead of once a request.
"""

import asyncio
import logging
import time
from collections.abc import Sequence, Set
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Unavailable
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres

log = logging.getLogger(__name__)

ABSENT_MAX = 500_000
"""Takes about 40 MB of memory. Above it, the absent accounts with the highest ids stay visible."""

ROWS = 20_000
"""Rows per statement, which takes some tens of milliseconds."""

OVERLAP_US = 15_000_000
"""Each read repeats this much: a change may commit after a read with an earlier timestamp, or come
from a server whose clock is behind."""

RETRY_S = 0.5
"""Pause after a failed read. `as_of` ignores it."""

WHOLE_S = 600
"""How often the whole set is read, in case clocks differ by more than the overlap."""


@dataclass(frozen=True, slots=True)
class _Statements:
    all_absent: str
    lately_changed: str


_SQL = sql.load(_Statements, "absences")


class PostgresAbsences:
    """Implements `storage.ports.accounts.Absences`."""

    def __init__(self, postgres: Postgres, age_s: float) -> None:
        self._postgres = postgres
        self._age_s = age_s
        self._known: set[UserId] = set()
        self._read_at: float | None = None
        self._retry_at = 0.0
        self._whole_at = 0.0
        self._as_of_us = 0
        """The database clock's time of the known state."""
        self._expiries = 0
        self._expiries_read = 0
        """Value of `_expiries` before the last successful read."""
        self._reading = asyncio.Lock()

    async def now(self) -> Set[UserId]:
        if self._is_old() and self._may_try():
            async with self._reading:  # one task reads, the others wait for it
                if self._is_old() and self._may_try():
                    try:
                        await self._read()
                    except Unavailable:
                        if self._read_at is None:
                            raise
                        # No account state can change while PostgreSQL is down.
                        log.warning(
                            "cannot read absent accounts from PostgreSQL; using those last read"
                        )
        return self._known

    async def as_of(self, at_us: int) -> Set[UserId]:
        if self._lacks(at_us):
            async with self._reading:
                if self._lacks(at_us):
                    await self._read()
        return await self.now()

    def expire(self) -> None:
        self._expiries += 1

    def _lacks(self, at_us: int) -> bool:
        return self._expiries_read != self._expiries or self._as_of_us < at_us

    def _is_old(self) -> bool:
        if self._read_at is None or self._expiries_read != self._expiries:
            return True
        return time.monotonic() - self._read_at >= self._age_s

    def _may_try(self) -> bool:
        return self._read_at is None or time.monotonic() >= self._retry_at

    async def _read(self) -> None:
        started, expiries = time.monotonic(), self._expiries
        try:
            if self._read_at is None or started - self._whole_at >= WHOLE_S:
                await self._read_all()
                self._whole_at = started
            else:
                await self._read_changes()
        except Unavailable:
            self._retry_at = time.monotonic() + RETRY_S
            raise
        self._read_at, self._expiries_read = started, expiries

    async def _read_all(self) -> None:
        clock, *rows = await self._postgres.fetch(_SQL.all_absent, 0, ROWS)
        known = {UserId(row["user_id"]) for row in rows}
        while len(rows) == ROWS and len(known) < ABSENT_MAX:
            _, *rows = await self._postgres.fetch(_SQL.all_absent, max(known), ROWS)
            known.update(row["user_id"] for row in rows)
        if len(known) >= ABSENT_MAX:
            log.warning("%d accounts are absent; further ones are not hidden", ABSENT_MAX)
        self._known, self._as_of_us = known, clock["now"]

    async def _read_changes(self) -> None:
        place = (self._as_of_us - OVERLAP_US, 0)
        clock, *rows = await self._postgres.fetch(_SQL.lately_changed, *place, ROWS)
        self._take(rows)
        while len(rows) == ROWS:
            place = (rows[-1]["changed_at"], rows[-1]["user_id"])
            _, *rows = await self._postgres.fetch(_SQL.lately_changed, *place, ROWS)
            self._take(rows)
        self._as_of_us = clock["changed_at"]

    def _take(self, rows: Sequence[Record]) -> None:
        for user, _, absent in rows:
            if not absent:
                self._known.discard(user)
            elif len(self._known) < ABSENT_MAX:
                self._known.add(user)
