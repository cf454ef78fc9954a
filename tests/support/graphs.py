"""Make small graphs with real writes and the real drain."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from graph.decision_types import Decision, PairState, Rule
from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.receipt import Receipt
from graph.rules import follow, unfollow
from graph.undo import undo_record
from storage.stores import Stores

PLENTY = 1_000_000
"""A limit of follows that no test reaches."""


async def follows(stores: Stores, *pairs: tuple[int, int]) -> None:
    """The first user of each pair follows the second, one pair after the other."""
    for pair in pairs:
        decision = await stores.writes.edges.change(as_pair(*pair), follow(PLENTY))
        assert decision.outcome is Outcome.FOLLOWED


async def unfollows(stores: Stores, *pairs: tuple[int, int]) -> None:
    for pair in pairs:
        decision = await stores.writes.edges.change(as_pair(*pair), unfollow())
        assert decision.outcome is Outcome.UNFOLLOWED


def with_receipt(rule: Rule, receipt_id: UUID) -> Rule:
    """The same rule, which also writes a receipt under this id."""

    def decide(state: PairState) -> Decision:
        decision = rule(state)
        record = undo_record(state, decision) if decision.steps else None
        receipt = Receipt(receipt_id, b"asked", decision.outcome, record)
        return replace(decision, receipt=receipt)

    return decide


async def drain_waiting(stores: Stores) -> None:
    """Apply and publish the changes that are pending now. Others may write meanwhile."""
    lanes = stores.jobs.lanes
    for lane in await lanes.progress.lanes_with_changes():
        await lanes.drain.lane(lane)
    await lanes.drain.publish_parked(await lanes.progress.lanes_with_parked())


async def drain_all(stores: Stores) -> None:
    """Apply and publish all changes. Nobody may write meanwhile: fails if changes are left."""
    await drain_waiting(stores)
    assert not await stores.jobs.lanes.progress.lanes_with_changes()


def as_pair(source: int, target: int) -> Pair:
    return Pair(UserId(source), UserId(target))


def users(*ids: int) -> list[UserId]:
    return list(map(UserId, ids))


def ids_of(entries: Iterable[tuple[int, int]]) -> list[int]:
    """The users of a page's entries."""
    return [user for _, user in entries]
