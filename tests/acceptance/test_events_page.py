"""The subscriptions of docs/events.md run as they stand, and its tables are the truth."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

from gateway.connections import EXPIRED, GOING_AWAY, INTERNAL, SLOW
from gateway.graphql_ws import FULL, INVALID, NOT_ACCEPTABLE
from graph.event import EventType
from graph.lane import LANES
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.graphs import drain_all, follows
from tests.live import live_gateway
from tests.waiting import until

PAGE = (Path(__file__).parents[2] / "docs" / "events.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"```graphql\n# as (\w+)\n(subscription (\w+) .*?)```", re.DOTALL)
ONE, TWO = 1, 2


async def test_every_example_hears_of_a_new_follower(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("```graphql")
    async with live_gateway(storage_settings) as live, AsyncExitStack() as stack:
        sockets = {}
        for viewer, query, name in examples:
            own = None if viewer == "nobody" else int(viewer)
            sockets[name] = await stack.enter_async_context(live.socket(viewer=own))
            await sockets[name].subscribe(query)
        buttons = (await sockets["Buttons"].data())["relationChanged"]
        assert [button["state"] for button in buttons] == ["NONE", "NONE"]
        assert (await sockets["Counts"].data())["countsChanged"]["followerCount"] == 0
        await until(lambda: is_open(stores))
        await follows(stores, (TWO, ONE))
        await drain_all(stores)
        event = (await sockets["Mine"].data())["relationshipEvents"]
        assert (event["type"], event["from"]) == ("FOLLOWED", {"id": "2", "followerCount": 0})
        (button,) = (await sockets["Buttons"].data())["relationChanged"]
        assert button == {"to": {"id": "2"}, "state": "FOLLOWED_BY", "requested": False}
        counts = (await sockets["Counts"].data())["countsChanged"]
        assert counts == {"followerCount": 1, "followingCount": 0, "friendCount": 0}


async def is_open(stores: Stores) -> bool:
    return bool((await stores.redis.pipe([("EXISTS", f"kith:public:feed:{ONE}")]))[0])


def test_every_code_that_a_socket_closes_with_is_explained() -> None:
    explained = {int(code) for code in re.findall(r"^\| (\d{4})", PAGE, re.MULTILINE)}
    own = {EXPIRED, FULL, GOING_AWAY, INTERNAL, INVALID, NOT_ACCEPTABLE, SLOW}
    assert {ending.code for ending in own} <= explained


def test_every_type_of_event_is_in_the_table_of_who_hears_what() -> None:
    rows = re.findall(r"^\| .* \|$", PAGE.split("## Who hears what")[1], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert {kind.name for kind in EventType} <= named


def test_the_streams_are_as_many_as_the_lanes() -> None:
    assert f"range({LANES})" in PAGE
    assert f"`n` from 0 to {LANES - 1}" in PAGE
