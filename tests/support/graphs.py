"""Small graphs for tests: made by real writes, drained by the real drain."""

from collections.abc import Iterable
from uuid import UUID

from graph.decision import Before, Decision, Outcome
from graph.edge import Pair, UserId
from graph.receipt import Note, Receipt
from graph.transitions import follow, taken_by, unfollow
from storage.stores import Stores

PLENTY = 1_000_000


async def follows(stores: Stores, *pairs: tuple[int, int]) -> None:
    """Each first user follows the second, one after the other."""
    for pair in pairs:
        decision = await stores.writes.edges.change(as_pair(*pair), follow(PLENTY))
        assert decision.outcome is Outcome.FOLLOWED


async def unfollows(stores: Stores, *pairs: tuple[int, int]) -> None:
    for pair in pairs:
        decision = await stores.writes.edges.change(as_pair(*pair), unfollow())
        assert decision.outcome is Outcome.UNFOLLOWED


def noting(receipt_id: UUID) -> Note:
    """Every change has a receipt under this id."""

    def note(before: Before, decision: Decision) -> Receipt:
        taken = taken_by(before, decision) if decision.steps else None
        return Receipt(receipt_id, b"asked", decision.outcome, taken)

    return note


async def drain_all(stores: Stores) -> None:
    """Everything that waits reaches the reverse side and the caches."""
    for lane in await stores.jobs.outbox.dirty():
        await stores.jobs.drain.lane(lane)
    await stores.jobs.drain.aside(await stores.jobs.outbox.with_any_aside())
    assert not await stores.jobs.outbox.dirty()


def as_pair(source: int, target: int) -> Pair:
    return Pair(UserId(source), UserId(target))


def users(*ids: int) -> list[UserId]:
    return list(map(UserId, ids))


def ids_of(entries: Iterable[tuple[int, int]]) -> list[int]:
    """The users of a page's entries."""
    return [user for _, user in entries]
