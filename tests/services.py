"""A gateway asked as trusted services ask it: with a token of the scope `service`."""

from typing import Any

from gateway.authentication import DEVELOPMENT_SECRET, mint
from tests.gateway import Gateway

RECORD = """
mutation Record($interactions: [InteractionInput!]!) {
  recordInteractions(input: {interactions: $interactions, clientMutationId: "c-1"}) {
    recorded clientMutationId
  }
}
"""


async def service_answer(
    gateway: Gateway, query: str, sub: int | None = None, **variables: Any
) -> dict[str, Any]:
    """The whole answer to a service, perhaps for a user."""
    token = mint(DEVELOPMENT_SECRET, sub, "service")
    body = {"query": query, "variables": variables}
    headers = {"authorization": f"Bearer {token}"}
    response = await gateway.http.post("/graphql", json=body, headers=headers)
    answer: dict[str, Any] = response.json()
    return answer


def interaction(source: int, target: int, kind: str = "MESSAGED", **more: Any) -> dict[str, Any]:
    return {"from": str(source), "to": str(target), "kind": kind, **more}


async def record(gateway: Gateway, *interactions: dict[str, Any]) -> int:
    """How many were recorded."""
    answer = await service_answer(gateway, RECORD, interactions=list(interactions))
    assert "errors" not in answer, answer["errors"]
    recorded: int = answer["data"]["recordInteractions"]["recorded"]
    return recorded
