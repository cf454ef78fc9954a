"""Write files of edges, and check the graph after they are loaded."""

from collections.abc import Iterable
from pathlib import Path

from graph.lane import LANES, Lane
from storage.postgres.connection.session import session
from storage.postgres.outbox import Outbox
from storage.postgres.verification.verify import verify
from storage.settings import StorageSettings

Edge = tuple[int, int, int]
"""(source, target, since in milliseconds)."""


def write_edges(path: Path, edges: Iterable[Edge]) -> Path:
    lines = "".join(f"{source},{target},{since}\n" for source, target, since in edges)
    path.write_text(f"from_user_id,to_user_id,created_at_ms\n{lines}")
    return path


def ring(users: int, follows: int) -> list[Edge]:
    """Users in a circle. Each follows the next ones and the previous one, so some are friends."""
    steps = [*range(1, follows), users - 1]
    return [(u + 1, (u + s) % users + 1, 1000 * u + s) for u in range(users) for s in steps]


async def execute(settings: StorageSettings, *statements: str) -> None:
    async with session(settings, "test") as connection:
        for statement in statements:
            await connection.execute(statement)


async def fetch(settings: StorageSettings, statement: str) -> list[tuple[int, ...]]:
    async with session(settings, "test") as connection:
        return [tuple(row) for row in await connection.fetch(statement)]


async def follows_of(settings: StorageSettings) -> list[Edge]:
    """All edges of the kind FOLLOW."""
    edges = await fetch(
        settings,
        "SELECT from_user_id, to_user_id, since FROM following WHERE kind = 1 ORDER BY 1, 2",
    )
    return [(source, target, since) for source, target, since in edges]


async def drain_reverse(outbox: Outbox) -> None:
    """Apply all changes to reverse rows and counts, but not to the caches."""
    for lane in range(LANES):
        while (applied := await outbox.apply(Lane(lane), 1000)).ids:
            await outbox.acknowledge(Lane(lane), applied)


async def assert_whole(settings: StorageSettings) -> None:
    report = await verify(settings)
    assert report.clean, report.drifts
    assert not report.pending
