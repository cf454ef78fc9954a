"""Converts the shapes for PostGraphile, and its answers into those of Kith.

It supports neither a write with our rules nor the 1,000th page by our cursors. Its own cursors are
opaque, so they are not compared.
"""

from pathlib import Path
from typing import Any

import asyncpg

from bench.shapes import FULL, Shape

_SQL = Path(__file__).with_name("peers") / "postgraphile.sql"

_RELATIONS = """query {operation}($user: BigInt!, $ids: [BigInt!]!) {{
  user: accountByRowId(rowId: $user) {{ relationWith: relationWithList(ids: $ids) {{ {fields} }} }}
}}"""
_PAGE = """query Page($user: BigInt!) {{
  user: accountByRowId(rowId: $user) {{
    {field}(first: 20, orderBy: [SINCE_DESC, {other}_ID_DESC]) {{
      totalCount
      edges {{ cursor node {{ followedAt id: {id} }} }}
      pageInfo {{ hasNextPage endCursor }}
    }}
  }}
}}"""
_NESTED = """query Nested($ids: [BigInt!]!) {
  users: usersList(ids: $ids) {
    id: rowId
    following(first: 10, orderBy: [SINCE_DESC, TO_ID_DESC]) {
      edges { node { to { id: rowId viewerRelation { state } } } }
    }
  }
}"""
_COUNTS = """query Counts($ids: [BigInt!]!) {
  users: usersList(ids: $ids) { id: rowId followingCount followerCount friendCount }
}"""

_DOCUMENTS = {
    "States": _RELATIONS.format(operation="States", fields="state"),
    "Relations": _RELATIONS.format(
        operation="Relations", fields=FULL.replace("{ id }", "{ id: rowId }")
    ),
    "Following": _PAGE.format(field="following", other="TO", id="toId"),
    "Followers": _PAGE.format(field="followers", other="FROM", id="fromId"),
    "Nested": _NESTED,
    "Counts": _COUNTS,
}


async def prepare(database_url: str, space: str) -> None:
    """Create the schema `peer` over one space, with a copy of the counts of its users."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(_SQL.read_text(encoding="utf-8").replace("{space}", space))
        await connection.execute("ANALYZE peer.account")
    finally:
        await connection.close()


def document(shape: Shape) -> str | None:
    """The shape's document for PostGraphile; None if it does not support the shape."""
    return _DOCUMENTS.get(shape.operation)


def normalised(data: Any) -> Any:
    """The data of an answer of Kith or PostGraphile, in a comparable form."""
    if isinstance(data, list):
        return list(map(normalised, data))
    if not isinstance(data, dict):
        return data
    if "node" in data:
        return _edge(data)
    return {key: normalised(value) for key, value in data.items() if key != "endCursor"}


def _edge(edge: dict[str, Any]) -> dict[str, Any]:
    """An edge as in Kith: PostGraphile nests the user in a row of follows, and that in the edge."""
    node = edge["node"].get("to", edge["node"])
    dates = {**edge, **edge["node"]}
    return {
        "followedAt": dates.get("followedAt"),
        "node": {key: value for key, value in node.items() if key != "followedAt"},
    }
