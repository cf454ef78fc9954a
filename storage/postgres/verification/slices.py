"""Verifies a graph in slices of some rows. A table stores the position and the findings."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from storage.postgres import sql
from storage.postgres.connection.pool import Postgres
from storage.postgres.connection.session import session
from storage.postgres.verification.comparison import comparison_on
from storage.postgres.verification.parts import Key
from storage.postgres.verification.run import START, Phase, Position, VerifyRun
from storage.settings import StorageSettings

SLICE_S = 8.0
"""No part begins after this time, so that the slice ends within the time of a job."""


@dataclass(frozen=True, slots=True)
class _Statements:
    read_verification: str
    write_verification: str


_SQL = sql.load(_Statements, "verification")


@dataclass(frozen=True, slots=True)
class VerificationState:
    """The state of the verification in slices. A pass compares the whole graph once."""

    position: Position = START
    compared: int = 0
    """Rows and users compared since the pass began."""
    drifts: Mapping[str, int] | None = None
    """The drift that the pass has found so far, by kind."""
    slices: int = 0
    """Slices so far, of all passes."""
    completed_at: int | None = None
    """When the last complete pass ended, in microseconds. None: there was none."""
    completed_drifts: Mapping[str, int] | None = None
    """The drift that the last complete pass found, by kind."""


class Verification:
    """The verification of one space in slices. It repairs nothing."""

    def __init__(self, postgres: Postgres, settings: StorageSettings) -> None:
        self._postgres = postgres
        self._settings = settings

    async def state(self) -> VerificationState:
        row = await self._postgres.row(_SQL.read_verification)
        if row is None:
            return VerificationState()
        return VerificationState(
            Position(Phase(row["phase"]), Key(row["owner_id"], row["other_id"])),
            row["compared"],
            orjson.loads(row["drifts"]),
            row["slices"],
            row["completed_at"],
            orjson.loads(row["completed_drifts"]),
        )

    async def slice(self, rows: int) -> bool:
        """Compare at least `rows` rows and users, in parts of up to 20,000 rows, or of 500 users,
        unless it takes longer than `SLICE_S` or the pass ends. Erased accounts and group members
        are not counted. Returns whether a pass was completed.

        Raises:
            Unavailable: PostgreSQL cannot be reached.
        """
        state = await self.state()
        position: Position | None = state.position
        deadline = time.monotonic() + SLICE_S
        async with session(self._settings, "verification") as connection:
            comparison = await comparison_on(connection)
            run = VerifyRun(repair=False, examples=0, on_progress=None)
            while position is not None:
                position = await run.advance(comparison, position)
                if run.compared >= rows or time.monotonic() > deadline:
                    break
        drifts = dict(state.drifts or {})
        for drift in run.report().drifts:
            drifts[drift.kind.name] = drifts.get(drift.kind.name, 0) + drift.count
        phase, after = position or START
        await self._postgres.fetch(
            _SQL.write_verification,
            phase,
            *after,
            state.compared + run.compared,
            orjson.dumps(drifts).decode(),
            position is None,
        )
        return position is None
