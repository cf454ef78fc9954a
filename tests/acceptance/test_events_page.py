"""The subscriptions in docs/events.md run as printed, and its tables are complete."""

import re
from contextlib import AsyncExitStack

from gateway.graphql.client_connections import EXPIRED, FULL, GOING_AWAY, INTERNAL, SLOW
from gateway.graphql.sockets import INVALID, NOT_ACCEPTABLE
from graph.event import EventType
from graph.lane import LANES
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.documentation import examples, page
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import has_feed, live_gateway
from tests.support.waiting import until

PAGE = page("events")
ONE, TWO = 1, 2


async def test_every_example_receives_the_event_of_a_new_follower(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    async with live_gateway(storage_settings) as live, AsyncExitStack() as stack:
        sockets = {}
        for example in examples("events"):
            _, viewer = example.asker
            name = example.document.split("subscription ")[1].split()[0]
            sockets[name] = await stack.enter_async_context(live.socket(viewer=viewer))
            await sockets[name].subscribe(example.document)
        buttons = (await sockets["Buttons"].data())["relationChanged"]
        assert [button["state"] for button in buttons] == ["NONE", "NONE"]
        assert (await sockets["Counts"].data())["countsChanged"]["followerCount"] == 0
        await until(lambda: has_feed(stores, ONE))
        await follows(stores, (TWO, ONE))
        await drain_all(stores)
        event = (await sockets["Mine"].data())["relationshipEvents"]
        assert (event["type"], event["from"]) == ("FOLLOWED", {"id": "2", "followerCount": 0})
        (button,) = (await sockets["Buttons"].data())["relationChanged"]
        assert button == {"to": {"id": "2"}, "state": "FOLLOWED_BY", "requested": False}
        counts = (await sockets["Counts"].data())["countsChanged"]
        assert counts == {"followerCount": 1, "followingCount": 0, "friendCount": 0}


def test_the_page_explains_every_code_that_a_socket_closes_with() -> None:
    explained = {int(code) for code in re.findall(r"^\| (\d{4})", PAGE, re.MULTILINE)}
    used = {EXPIRED, FULL, GOING_AWAY, INTERNAL, INVALID, NOT_ACCEPTABLE, SLOW}
    assert {ending.code for ending in used} <= explained


def test_every_type_of_event_is_in_the_table_of_receivers() -> None:
    rows = re.findall(r"^\| .* \|$", PAGE.split("## Who receives which events")[1], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    assert {kind.name for kind in EventType} <= named


def test_the_page_has_the_number_of_streams() -> None:
    assert f"range({LANES})" in PAGE
    assert f"`n` from 0 to {LANES - 1}" in PAGE
