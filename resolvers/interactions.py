"""Recording interactions: services report in batches what users did."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from graph.affinity import Interaction, combined
from graph.edge import Pair
from graph.outcome import Outcome
from graph.receipt import SERVICE_ACTOR
from resolvers import result
from resolvers.audit import audited, require_service
from resolvers.idempotency import request_of, run_idempotently
from resolvers.scope import Scope


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """The result of the recording, and how many interactions were recorded."""

    recorded: int

    @property
    def is_changed(self) -> bool:
        return self.recorded > 0


async def record_interactions(
    scope: Scope,
    interactions: Sequence[Interaction],
    idempotency_key: str | None = None,
    sent: object = None,
) -> Result:
    """Record all interactions except those with oneself and those of deleted accounts.

    Recording a batch twice counts twice. With a key that was used before, it returns the first
    result. The key is compared with `sent`, the input as sent, because interactions without a date
    get a new one on each request. All services share one space of keys.

    Raises:
        Forbidden: the request is not from a service.
        Unavailable: PostgreSQL cannot be reached. With a key, repeating the request is safe.
    """
    require_service(scope, "recordInteractions", interactions=len(interactions))
    recording = _record(scope, interactions, idempotency_key, sent)
    return await audited(
        scope, "recordInteractions", None, recording, interactions=len(interactions)
    )


async def _record(
    scope: Scope, interactions: Sequence[Interaction], idempotency_key: str | None, sent: object
) -> Result:
    request = request_of(SERVICE_ACTOR, idempotency_key, "recordInteractions", sent)
    ranks = combined(scope.affinity_scale, interactions)
    affinity = scope.stores.own_data.affinities

    def count(recorded: Set[Pair]) -> int:
        return sum(interaction.pair in recorded for interaction in interactions)

    async def save() -> Result:
        if request is None:
            recorded = count(await affinity.record(ranks))
        else:
            recorded = await affinity.record_once(ranks, request, count)
        return Result(Outcome.RECORDED, recorded)

    saved = await run_idempotently(scope, request, save)
    return Result(saved.outcome, saved.recorded)
