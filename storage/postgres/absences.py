"""The set of absent accounts, kept in each process.

Few accounts are absent, so each process keeps all of them, and a page or a check of a thousand
relations costs one set lookup. The process reads the changes from PostgreSQL when its set is older
than `age_s`: about twice a second instead of once a request. While it cannot, it adds the accounts
in the absence log, which other gateways may have made absent. If the log may have lost some since
the set was read, the absent accounts are unavailable until PostgreSQL answers.
"""

import asyncio
import logging
import time
from collections.abc import Sequence, Set
from dataclasses import dataclass

from graph.edge import UserId
from graph.errors import Unavailable
from storage.ports.accounts import AbsenceLog
from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.connector import POSTGRESQL
from storage.postgres.connection.pool import Postgres

log = logging.getLogger(__name__)

ABSENT_MAX = 500_000
"""The most accounts in the set: about 40 MB of memory. Further absent accounts stay visible."""

ROWS_PER_STATEMENT = 20_000
"""Rows per statement, which takes some tens of milliseconds."""

OVERLAP_US = 15_000_000
"""A read of changes, or of the absence log, starts this long before the previous read of
PostgreSQL: a change may be committed later than its timestamp says, or its timestamp may come from
a server whose clock is behind."""

RETRY_S = 0.5
"""Pause after a failed read of PostgreSQL. `as_of`, and `now` before the first successful read, do
not wait for its end."""

FULL_READ_INTERVAL_S = 600
"""How often the whole set is read, in case clocks differ by more than `OVERLAP_US`."""

EPOCH_AGE_S = 10
"""How often the epoch of the absence log is read, before PostgreSQL is. An older epoch is safe: if
Redis has lost the log since, and then PostgreSQL cannot be reached, this process answers
`Unavailable` though it need not. One case is not detected: Redis loses the entry of an account just
before the epoch is read, the account's change is committed after the read of PostgreSQL, and
PostgreSQL cannot be read again."""

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class _Statements:
    all_absent: str
    recently_changed: str


_SQL = sql.load(_Statements, "absences")


class PostgresAbsences:
    """Implements `storage.ports.accounts.Absences`."""

    def __init__(self, postgres: Postgres, absence_log: AbsenceLog, age_s: float) -> None:
        self._postgres = postgres
        self._log = absence_log
        self._age_s = age_s
        self._absent: set[UserId] = set()
        self._read_at = NEVER
        """When the last successful read of PostgreSQL began."""
        self._renewed_at = NEVER
        """When PostgreSQL or the absence log was read last."""
        self._retry_at = NEVER
        self._full_read_at = NEVER
        self._as_of_us = 0
        """When `_absent` was read, by the database's clock."""
        self._expiries = 0
        """How often `expire` was called."""
        self._expiries_read = 0
        """Value of `_expiries` before the last successful read of PostgreSQL."""
        self._expiries_renewed = 0
        """Value of `_expiries` at `_renewed_at`."""
        self._epoch: str | None = None
        """An epoch of the absence log before the last successful read of PostgreSQL. None: Redis
        has not been reached yet."""
        self._epoch_read_at = NEVER
        self._reading = asyncio.Lock()

    async def now(self) -> Set[UserId]:
        if self._is_old():
            async with self._reading:  # one task reads, the others wait for it
                if self._is_old():
                    await self._renew()
        return self._absent

    async def as_of(self, at_us: int) -> Set[UserId]:
        if self._may_lack_changes_until(at_us):
            async with self._reading:
                if self._may_lack_changes_until(at_us):
                    await self._read()
        return await self.now()

    def expire(self) -> None:
        self._expiries += 1

    def _may_lack_changes_until(self, at_us: int) -> bool:
        """Whether the set may lack changes that were made by the time `at_us`."""
        return self._expiries_read != self._expiries or self._as_of_us < at_us

    def _is_old(self) -> bool:
        if self._expiries_renewed != self._expiries:
            return True
        return time.monotonic() - self._renewed_at >= self._age_s

    async def _renew(self) -> None:
        """Read PostgreSQL. If that fails, or has just failed, add the accounts in the absence log
        instead. Raises Unavailable if the set then may lack accounts."""
        if self._read_at == NEVER or time.monotonic() >= self._retry_at:
            try:
                await self._read()
                return
            except Unavailable:
                if self._read_at == NEVER:
                    raise
                log.warning("cannot read absent accounts from PostgreSQL; reading the absence log")
        await self._add_logged()

    async def _add_logged(self) -> None:
        """Add the accounts that may have become absent since the last read of PostgreSQL."""
        started, expiries = time.monotonic(), self._expiries
        age_s = started - self._read_at + OVERLAP_US / 1_000_000
        logged = None if self._epoch is None else await self._log.since(age_s, self._epoch)
        if logged is None:
            if self._epoch_read_at != NEVER:  # once, not in each request
                log.warning("the absence log may lack accounts; waiting for PostgreSQL")
            self._epoch_read_at = NEVER
            raise Unavailable(POSTGRESQL)
        if not logged <= self._absent:
            self._absent |= logged
            self._full_read_at = NEVER  # some may be active, and have no change to read
        self._renewed_at, self._expiries_renewed = started, expiries

    async def _read(self) -> None:
        """Read the changes from PostgreSQL or, every `FULL_READ_INTERVAL_S`, the whole set. Raises
        Unavailable."""
        epoch, epoch_read_at = self._epoch, self._epoch_read_at
        if time.monotonic() - epoch_read_at >= EPOCH_AGE_S:
            epoch, epoch_read_at = await self._latest_epoch(), time.monotonic()
        started, expiries = time.monotonic(), self._expiries
        try:
            if started - self._full_read_at >= FULL_READ_INTERVAL_S:
                await self._read_all()
                self._full_read_at = started
            else:
                await self._read_changes()
        except Unavailable:
            self._retry_at = time.monotonic() + RETRY_S
            raise
        self._read_at = self._renewed_at = started
        self._expiries_read = self._expiries_renewed = expiries
        self._retry_at = NEVER
        # Only now: accounts that were lost with another epoch may be missing in the previous set.
        self._epoch, self._epoch_read_at = epoch, epoch_read_at

    async def _latest_epoch(self) -> str | None:
        """The epoch of the absence log, or the last known one if Redis cannot be reached."""
        try:
            return await self._log.epoch()
        except Unavailable:
            return self._epoch

    async def _read_all(self) -> None:
        clock, *rows = await self._postgres.fetch(_SQL.all_absent, 0, ROWS_PER_STATEMENT)
        users = {UserId(row["user_id"]) for row in rows}
        while len(rows) == ROWS_PER_STATEMENT and len(users) < ABSENT_MAX:
            _, *rows = await self._postgres.fetch(_SQL.all_absent, max(users), ROWS_PER_STATEMENT)
            users.update(row["user_id"] for row in rows)
        if len(users) >= ABSENT_MAX:
            log.warning("%d accounts are absent; further ones are not hidden", ABSENT_MAX)
        self._absent, self._as_of_us = users, clock["now"]

    async def _read_changes(self) -> None:
        after = (self._as_of_us - OVERLAP_US, 0)
        clock, *rows = await self._postgres.fetch(_SQL.recently_changed, *after, ROWS_PER_STATEMENT)
        self._apply_changes(rows)
        while len(rows) == ROWS_PER_STATEMENT:
            after = (rows[-1]["changed_at"], rows[-1]["user_id"])
            _, *rows = await self._postgres.fetch(_SQL.recently_changed, *after, ROWS_PER_STATEMENT)
            self._apply_changes(rows)
        self._as_of_us = clock["changed_at"]

    def _apply_changes(self, rows: Sequence[Record]) -> None:
        for user, _, is_absent in rows:
            if not is_absent:
                self._absent.discard(user)
            elif len(self._absent) < ABSENT_MAX:
                self._absent.add(user)
