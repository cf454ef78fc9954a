"""What recording interactions is: services tell what users did, in batches.

Knows nothing of weights and decay: those are in `graph.affinity`.
"""

from collections.abc import Sequence

from graph.affinity import Interaction, combined
from resolvers.scope import Scope


async def record_interactions(scope: Scope, interactions: Sequence[Interaction]) -> int:
    """How many were recorded: all but those of users with themselves, and of deleted accounts.

    Recording twice counts twice.

    Raises:
        Forbidden: no service asks.
        Unavailable: PostgreSQL is.
    """
    scope.must_be_service()
    recorded = await scope.stores.affinity.record(combined(scope.scale, interactions))
    return sum(of.pair in recorded for of in interactions)
