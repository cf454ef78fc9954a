"""Start bulk operations over HTTP, and apply them in this process."""

import json
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import httpx

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.authentication.token_claims import parse_claim_path
from gateway.services.bulk_work import BulkWork
from resolvers.policy import Policy
from storage.stores import Stores
from workers import bulk as workers_bulk
from workers.bulk import BulkJobs

AS_SERVICE = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}


def as_client(name: str) -> dict[str, str]:
    """The headers of a service whose token names its client."""
    client = (parse_claim_path("client_id"), name)
    token = mint(DEVELOPMENT_SECRET, None, SERVICE, further_claim=client)
    return {"authorization": f"Bearer {token}"}


def line(viewer: int, action: str, user: int, **more: object) -> str:
    """One line of an upload: a change of `viewer` towards `user`, with `more` input fields."""
    return json.dumps({"viewerId": str(viewer), "action": action, "userId": str(user), **more})


async def upload(
    http: httpx.AsyncClient,
    name: str,
    *lines: str,
    headers: Mapping[str, str] = AS_SERVICE,
    parameters: Mapping[str, str] | None = None,
) -> httpx.Response:
    """Start the bulk operation `name`. A worker applies it later."""
    content = "\n".join(lines).encode()
    query = {"id": name, **(parameters or {})}
    return await http.post("/bulk", params=query, content=content, headers=headers)


async def results(
    http: httpx.AsyncClient, name: str, headers: Mapping[str, str] = AS_SERVICE
) -> list[dict[str, Any]]:
    response = await http.get(f"/bulk/{name}/results", headers=headers)
    assert response.status_code == 200, response.text
    return [json.loads(row) for row in response.text.splitlines()]


async def apply_all(stores: Stores, policy: Policy | None = None) -> None:
    """Apply all operations as a worker does, but in one job, even on a slow machine."""
    with patch.object(workers_bulk, "RUN_S", 60.0):
        await BulkJobs(BulkWork(policy or Policy())).run(stores)
