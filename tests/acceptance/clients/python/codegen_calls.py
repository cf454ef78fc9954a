"""The client that ariadne-codegen wrote: queries, a mutation, an error, and a subscription.

Usage: python codegen_calls.py '{"url": …, "tokens": …, "viewer": …, "other": …, "third": …}'
"""

import asyncio
import json
import sys
from typing import Any

from kith_client import Client, FollowUserInput, GraphQLClientGraphQLMultiError
from who_follows import followers


def show(result: Any) -> None:
    print(json.dumps(result), flush=True)


def create_client(given: dict[str, Any], user: str) -> Client:
    headers = {"authorization": f"Bearer {given['tokens'][user]}"}
    websocket = given["url"].replace("http", "ws", 1)
    return Client(given["url"], headers, ws_url=websocket, ws_headers=headers)


async def main(given: dict[str, Any]) -> None:
    other = given["other"]
    follow = FollowUserInput(user_id=other)
    async with create_client(given, given["viewer"]) as client:
        followed = (await client.follow(follow)).follow_user
        assert followed is not None
        assert followed.relation is not None
        show({"outcome": followed.outcome, "state": followed.relation.state})
        batch = await client.batch([other, given["viewer"]])
        show([user.model_dump(include={"id", "follower_count"}) for user in batch.users if user])
        nodes = (await client.nodes([f"relation:{given['viewer']}:{other}"])).nodes
        show([node.model_dump(mode="json", by_alias=True) for node in nodes if node])
        try:
            await client.who_follows("nobody")
        except GraphQLClientGraphQLMultiError as error:
            show({"code": (error.errors[0].extensions or {})["code"]})
        counts: list[int | None] = []
        async for event in client.counts(other):
            counts.append(event.counts_changed.follower_count)
            if counts == [1]:
                async with create_client(given, given["third"]) as third:
                    await third.follow(follow)
            if counts[-1] == 2:
                break
        show({"counts": [counts[0], counts[-1]]})
    show(await followers(given["url"], given["tokens"][given["viewer"]], other))


asyncio.run(main(json.loads(sys.argv[1])))
