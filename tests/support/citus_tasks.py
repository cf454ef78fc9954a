"""Count the tasks that Citus plans for a named query, by EXPLAIN."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import asyncpg

from tests.support.shards.declarations import Declaration, declared

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

USERS = [5, 6, 7, 8, 9]
"""The users in array parameters. They are on several shards."""
USER = 4
"""The user in other parameters."""

_SAMPLES = {
    "bigint": str(USER),
    "bigint[]": "'{1}'",
    "smallint": "1",
    "smallint[]": "'{1, 2}'",
    "integer": "10",
    "integer[]": "'{1, 2}'",
    "boolean": "true",
    "boolean[]": "'{true}'",
    "double precision": "1.5",
    "double precision[]": "'{1.5}'",
    "text": "'8'",
    "text[]": "'{8}'",
    "name": "'public'",
    "jsonb": "'{}'",
    "uuid": "'00000000-0000-0000-0000-000000000001'",
    "uuid[]": "'{00000000-0000-0000-0000-000000000001}'",
    "bytea": "'x'",
}
_PREPARED = "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'counted'"
_PARAMETER = re.compile(r"\$(\d+)")
_COMMENT = re.compile(r"--.*")
_PLANNED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "(")


def is_planned(sql: str) -> bool:
    """Whether EXPLAIN accepts this statement, and Citus runs it: it is not declared as plain."""
    declaration = declared(sql)
    if declaration is None or declaration.is_plain:
        return False
    lines = [line for line in sql.splitlines() if line and not line.startswith("--")]
    return lines[0].startswith(_PLANNED)


async def tasks(connection: Connection, sql: str) -> list[int]:
    """The number of tasks of each part of a statement that Citus plans by itself."""
    declaration = declared(sql)
    assert declaration is not None
    await connection.execute(f"PREPARE counted AS {sql}")
    try:
        types = await connection.fetchval(_PREPARED)
    finally:
        await connection.execute("DEALLOCATE counted")
    arguments = [_argument(n, kind, declaration) for n, kind in enumerate(types, start=1)]
    # EXPLAIN cannot plan an INSERT ... SELECT with parameters.
    text = _PARAMETER.sub(lambda found: arguments[int(found[1]) - 1], _COMMENT.sub("", sql))
    plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON, COSTS OFF) {text}")
    return list(_task_counts(json.loads(plan)))


def tasks_max(sql: str, shards: int) -> int:
    """The greatest number of tasks that a part of a statement may have by its declaration."""
    declaration = declared(sql)
    assert declaration is not None
    if declaration.is_fan_out:
        return shards
    return len(USERS) if declaration.arrays - declaration.singles else 1


def _argument(number: int, kind: str, declaration: Declaration) -> str:
    sample = _SAMPLES[kind]
    if number in declaration.arrays:
        users = USERS[:1] if number in declaration.singles else USERS
        sample = f"'{{{', '.join(map(str, users))}}}'"
    return f"({sample}::{kind})"


def _task_counts(plan: Any) -> Iterator[int]:
    if isinstance(plan, dict):
        if "Task Count" in plan:
            yield plan["Task Count"]
        for value in plan.values():
            yield from _task_counts(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _task_counts(value)
