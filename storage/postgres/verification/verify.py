"""Verifies that the forward rows, reverse rows, counts and groups of a whole graph agree.

It reads both directions once, at the same time, and hashes their rows into one digest for each
bucket of pairs. Rows are compared one by one only in the buckets whose digests differ, because of
drift or of a change between the two reads. The counts are checked in ranges of users, and only the
users whose counts may differ are compared one by one.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from graph.edge import UserId
from storage.postgres.connection.domain_errors import domain_errors
from storage.postgres.connection.session import session
from storage.postgres.verification import comparison
from storage.postgres.verification.comparison import comparison_on
from storage.postgres.verification.digests import Digests
from storage.postgres.verification.parts import FIRST, Direction
from storage.postgres.verification.run import (
    BEFORE_ALL,
    OnVerifyProgress,
    Phase,
    Position,
    UserRanges,
    VerifyReport,
    VerifyRun,
)
from storage.settings import StorageSettings


async def verify(
    settings: StorageSettings,
    *,
    repair: bool = False,
    examples: int = 5,
    on_progress: OnVerifyProgress | None = None,
) -> VerifyReport:
    """Compare the whole graph of a space, while writes go on.

    Raises:
        Unavailable: PostgreSQL failed, or other transactions held rows to repair for too long.
    """
    async with session(settings, "verify") as one, session(settings, "verify") as other:
        first, second = await comparison_on(one), await comparison_on(other)
        run = VerifyRun(repair, examples, on_progress)
        digests = Digests()
        await _run_at_once(
            partial(run.digest, first, Direction.FORWARD, digests),
            partial(run.digest, second, Direction.REVERSE, digests),
        )
        if (buckets := digests.suspicious()) is not None:
            await _run_at_once(
                partial(run.compare, first, Position(Phase.FORWARD, FIRST), buckets),
                partial(run.compare, second, Position(Phase.REVERSE, FIRST), buckets),
            )
        ranges = UserRanges()
        await _run_at_once(
            partial(run.compare_all_counts, first, ranges),
            partial(run.compare_all_counts, second, ranges),
        )
        await run.compare(first, Position(Phase.ERASED, FIRST), None)
        await run.compare(first, Position(Phase.GROUPS, FIRST), None)
        return run.report()


async def _run_at_once(*parts: Callable[[], Awaitable[None]]) -> None:
    """Run `parts`, each on its own connection, at the same time. The first error cancels the
    others."""
    try:
        async with asyncio.TaskGroup() as work:
            for part in parts:
                work.create_task(_with_domain_errors(part))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


async def _with_domain_errors(part: Callable[[], Awaitable[None]]) -> None:
    with domain_errors():
        await part()


async def users_of_graph(settings: StorageSettings) -> AsyncIterator[Sequence[UserId]]:
    """All users with a count row, in the order of ids, `comparison.USERS_AT_ONCE` at a time."""
    async with session(settings, "verify") as connection:
        graph, after = await comparison_on(connection), BEFORE_ALL
        while users := await graph.next_users(after, comparison.USERS_AT_ONCE):
            yield users
            after = users[-1]
