"""gql: a query, a mutation, an error, and a subscription, each printed as a line of JSON.

Usage: python gql_calls.py '{"url": …, "tokens": …, "viewer": …, "other": …, "third": …}'
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportQueryError
from gql.transport.httpx import HTTPXAsyncTransport
from gql_client import create_client, create_subscriber
from graphql import build_schema

PROFILE = "query Profile($id: ID!) { user(id: $id) { id viewerRelation { state } } }"
FOLLOW = """
mutation Follow($input: FollowUserInput!) {
  followUser(input: $input) { outcome relation { state } }
}
"""
SCHEMA = build_schema(Path("schema.graphql").read_text(encoding="utf-8"))
COUNTS = "subscription Counts($id: ID!) { countsChanged(userId: $id) { followerCount } }"


def show(result: Any) -> None:
    print(json.dumps(result), flush=True)


async def main(given: dict[str, Any]) -> None:
    url, other = given["url"], given["other"]
    token = given["tokens"][given["viewer"]]
    async with create_client(url, token) as session:
        show(await session.execute(GraphQLRequest(PROFILE, variable_values={"id": other})))
        follow = GraphQLRequest(FOLLOW, variable_values={"input": {"userId": other}})
        show(await session.execute(follow))
        try:
            await session.execute(GraphQLRequest(PROFILE, variable_values={"id": "nobody"}))
        except TransportQueryError as error:
            show({"code": (error.errors or [])[0]["extensions"]["code"], "data": error.data})

    # gql checks operations against the schema file, and against what the server says of itself.
    headers = {"authorization": f"Bearer {token}"}
    transport = HTTPXAsyncTransport(url=url, headers=headers)
    async with Client(transport=transport, schema=SCHEMA) as session:
        show(await session.execute(GraphQLRequest(PROFILE, variable_values={"id": other})))
    async with Client(transport=transport, fetch_schema_from_transport=True) as session:
        show(await session.execute(GraphQLRequest(PROFILE, variable_values={"id": other})))

    async with create_subscriber(url, token) as session:
        counts: list[int] = []
        async for event in session.subscribe(GraphQLRequest(COUNTS, variable_values={"id": other})):
            counts.append(event["countsChanged"]["followerCount"])
            if counts == [1]:
                third = create_client(url, given["tokens"][given["third"]])
                async with third as session_of_third:
                    await session_of_third.execute(follow)
            if counts[-1] == 2:
                break
        show({"counts": [counts[0], counts[-1]]})


asyncio.run(main(json.loads(sys.argv[1])))
