"""What recording interactions is: services tell what users did, in batches.

Knows nothing of weights and decay: those are in `graph.affinity`.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from graph.affinity import Interaction, combined
from graph.decision import Outcome
from graph.edge import Pair
from graph.receipt import SERVICES, Receipt
from resolvers import result
from resolvers.repeats import keyed, once
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """What became of it, and how many were recorded."""

    recorded: int


async def record_interactions(
    scope: Scope,
    interactions: Sequence[Interaction],
    idempotency_key: str | None = None,
    said: object = None,
) -> Result:
    """Records all but what users did to themselves, and what is of deleted accounts.

    Recording twice counts twice; but with a key that was used before, the first result is told
    again. The key is of what was `said`: what was said without a date is dated anew each time. Keys
    are of all services together.

    Raises:
        Forbidden: no service asks.
        Unavailable: PostgreSQL is. With a key, doing it again is safe.
    """
    scope.must_be_service()
    request = keyed(SERVICES, idempotency_key, "recordInteractions", said)
    ranks = combined(scope.scale, interactions)
    affinity = scope.stores.affinity

    def count(recorded: Set[Pair]) -> int:
        return sum(of.pair in recorded for of in interactions)

    async def save() -> int:
        if request is None:
            return count(await affinity.record(ranks))
        return await affinity.record_once(ranks, request, count)

    saved = await once(scope, request, save)
    if isinstance(saved, Receipt):
        return Result(saved.outcome, saved.recorded)
    return Result(Outcome.RECORDED, saved)
