"""The directory of a deployment's spaces: a table in the schema of its default space."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

import orjson

from storage.postgres import sql
from storage.postgres.connection.acquired import Record
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    all: str
    create: str
    set_state: str
    set_settings: str
    remove: str
    has_schema: str


_SQL = sql.load(_Statements, "spaces")

DIRECTORY_CHECK_S = 2.0
"""How often gateways and workers read the directory, so how soon a change of it takes effect."""


class SpaceState(IntEnum):
    """Whether a space is served. The numbers are stored."""

    READY = 0
    CREATING = 1
    """Its tables may not be complete."""
    DROPPING = 2
    """Some of its tables and keys may be gone."""


@dataclass(frozen=True, slots=True)
class SpaceRecord:
    """A space in the directory. If the record of a name differs from an earlier one, it is another
    space, or the same space with another state or other settings."""

    name: str
    state: SpaceState
    settings: Mapping[str, str]
    """Environment variables that replace those of the process, in this space."""
    created_at: datetime


class SpaceDirectory:
    """The spaces other than the default one. Uses connections of the default space."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def all(self) -> dict[str, SpaceRecord]:
        """All spaces by their names, in alphabetical order, whatever their state.

        Raises:
            Unavailable: PostgreSQL cannot be reached, or the default space is not migrated.
        """
        return {row["name"]: _record(row) for row in await self._postgres.fetch(_SQL.all)}

    async def create(self, name: str, settings: Mapping[str, str]) -> bool:
        """Add a space whose tables do not exist yet. Returns False if there is one of this name."""
        text = orjson.dumps(settings).decode()
        return await self._postgres.row(_SQL.create, name, SpaceState.CREATING, text) is not None

    async def has_schema(self, name: str) -> bool:
        """Whether there is a schema of this name, which the space would have."""
        return await self._postgres.row(_SQL.has_schema, name) is not None

    async def set_state(self, name: str, state: SpaceState) -> bool:
        """Set the state of a space. Returns False if there is none of this name."""
        return await self._postgres.row(_SQL.set_state, name, state) is not None

    async def set_settings(self, name: str, settings: Mapping[str, str]) -> bool:
        """Replace the settings of a space. Returns False if there is none of this name."""
        text = orjson.dumps(settings).decode()
        return await self._postgres.row(_SQL.set_settings, name, text) is not None

    async def remove(self, name: str) -> None:
        """Remove a space whose tables and keys are gone."""
        await self._postgres.fetch(_SQL.remove, name)


def _record(row: Record) -> SpaceRecord:
    return SpaceRecord(
        row["name"], SpaceState(row["state"]), orjson.loads(row["settings"]), row["created_at"]
    )
