"""Interactions as trusted services record them."""

from typing import Any

from tests.gateway import Gateway

RECORD = """
mutation Record($interactions: [InteractionInput!]!) {
  recordInteractions(input: {interactions: $interactions, clientMutationId: "c-1"}) {
    recorded clientMutationId
  }
}
"""


def interaction(source: int, target: int, kind: str = "MESSAGED", **more: Any) -> dict[str, Any]:
    return {"from": str(source), "to": str(target), "kind": kind, **more}


async def record(gateway: Gateway, *interactions: dict[str, Any]) -> int:
    """How many were recorded."""
    data = await gateway.as_service.data(RECORD, interactions=list(interactions))
    recorded: int = data["recordInteractions"]["recorded"]
    return recorded
