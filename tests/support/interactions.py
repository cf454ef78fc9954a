"""Record interactions as a trusted service."""

from typing import Any

from tests.support.gateway import Gateway

RECORD = """
mutation Record($interactions: [InteractionInput!]!, $key: String) {
  recordInteractions(
    input: {interactions: $interactions, idempotencyKey: $key, clientMutationId: "c-1"}
  ) {
    outcome changed recorded clientMutationId userErrors { __typename code field }
  }
}
"""


def interaction(source: int, target: int, kind: str = "MESSAGED", **more: Any) -> dict[str, Any]:
    return {"from": str(source), "to": str(target), "kind": kind, **more}


async def record(gateway: Gateway, *interactions: dict[str, Any]) -> int:
    """Record interactions. Returns how many were recorded."""
    recorded: int = (await record_with(gateway, None, *interactions))["recorded"]
    return recorded


async def record_with(
    gateway: Gateway, key: str | None, *interactions: dict[str, Any]
) -> dict[str, Any]:
    """Record interactions, with an idempotency key if given. Returns the payload."""
    data = await gateway.as_service.data(RECORD, interactions=list(interactions), key=key)
    payload: dict[str, Any] = data["recordInteractions"]
    return payload
