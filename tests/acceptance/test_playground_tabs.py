"""Every example of the playground runs on the sample graph, and shows its feature."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import parse

from gateway.playground_examples import Example, examples
from gateway.sample import load_sample
from gateway.settings.config import Config
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.documentation import examples as readable
from tests.support.documentation import found, promised
from tests.support.gateway import DEVELOPMENT, Gateway
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import has_feed, live_gateway
from tests.support.waiting import until

ME = 1
UNDO, FRESH, IF_UNCHANGED = "Undo", "Fresh", "IfUnchanged"
MEMBERS, ADD_MEMBERS = "Members", "AddMembers"
GIVEN = {
    UNDO: ("undoToken", '"…"', '"{}"'),
    FRESH: ("consistencyToken", "null", '"{}"'),
    IF_UNCHANGED: ("version", '"…"', '"{}"'),
    MEMBERS: ("id", '"…"', '"{}"'),
    ADD_MEMBERS: ("id", '"…"', '"{}"'),
}
"""The values that a person copies from the previous response, and the variables for them."""


@pytest.fixture
async def sampled(storage_settings: StorageSettings, tmp_path: Path) -> None:
    await load_sample(Config(storage_settings, DEVELOPMENT, Policy()), tmp_path)


def operations(kind: str) -> Iterator[tuple[str, str, Example]]:
    """(name, text, the tab's example) of all operations of a kind, in the order of the tabs."""
    for example in examples():
        for one in parse(example.document).definitions:
            assert one.loc is not None
            text = example.document[one.loc.start : one.loc.end]
            if text.startswith(kind):
                yield text.split()[1], text, example


SHOWS: dict[str, Callable[[Any], bool]] = {
    "Lists": lambda a: all(count > 5 for count in found(a, "totalCount")),
    "Relations": lambda a: (
        set(found(a, "state")) == {"NONE", "FOLLOWING", "FOLLOWED_BY", "FRIENDS"}
        and all(any(found(a, flag)) for flag in ("whispering", "closeFollow", "muted", "requested"))
        and all(any(found(a, flag)) for flag in ("requestedBy", "blocking", "friendsSince"))
    ),
    "Circles": lambda a: len(set(found(a, "state"))) > 2,
    "Counts": lambda a: (
        None in found(a, "followerCount")
        and found(a, "__typename") == ["User", "FollowRequest", "Viewer", "Relation"]
    ),
    "Limits": lambda a: (
        all(used > 0 for used in found(a, "used"))
        and all(remaining > 0 for remaining in found(a, "remaining"))
    ),
    "Buttons": lambda a: len(set(found(a, "code"))) == 6,
    "CloseFollows": lambda a: found(a, "totalCount") == [2],
    "Notifications": lambda a: found(a, "notify") == ["ALL", "ALL", "NONE"],
    "Groups": lambda a: found(a, "memberCount") == [3, 2],
    "Members": lambda a: (
        found(a, "totalCount") == [3] and sorted(map(len, found(a, "groupIds"))) == [1, 1, 2]
    ),
    "NewFollowers": lambda a: (
        a["viewer"]["newFollowersCount"] > 1 and set(found(a, "isNew")) == {True, False}
    ),
    "Unavailable": lambda a: found(a, "unavailableCount") == [1, 0],
    "Pinned": lambda a: found(a, "id") == ["404", "403"],
    "Version": lambda a: len(found(a, "version")[0]) == 16,
    "Requests": lambda a: (
        found(a, "totalCount") == [2, 2]
        and {"Your talk was great!", "We met in Lisbon.", None} == set(found(a, "message"))
    ),
    "BlockedAndMuted": lambda a: (
        len(found(a, "blockedAt")) == 1 and len(set(found(a, "mutedUntil"))) == 2
    ),
    "HiddenLists": lambda a: len(set(found(a, "access"))) == 4,
    "Settings": lambda a: found(a, "followingLimit") == [1000],
    "Mask": lambda a: a["user"]["relationMask"] == "AAIJAAIABwWBABAAQAAAAA==",
    "Pairs": lambda a: all(any(found(a, of)) for of in ("whispering", "blocking", "requested")),
    "InCommon": lambda a: all(count > 2 for count in found(a, "totalCount")),
    "OrderAndFilter": lambda a: (
        all(len(part["id"]) for part in found(a, "node"))
        and all(count > 3 for count in found(a, "totalCount"))
    ),
    "Suggestions": lambda a: (
        len(set(found(a, "reason"))) == 2 and any(found(a, "knownFollowerCount"))
    ),
    "ClosestFriends": lambda a: found(a, "id")[:2] == ["404", "403"],
    "Affinity": lambda a: found(a, "recorded") == [2],
    "Account": lambda a: found(a, "state") == ["DEACTIVATED"],
    "BulkProgress": lambda a: found(a, "lineCount") == [2],
    "Fresh": lambda a: str(ME) in found(a, "id") and found(a, "degraded") == [False],
}
"""Texts that must be in the responses without an outcome."""


@pytest.mark.usefixtures("sampled")
async def test_every_query_and_mutation_comes_to_what_its_tab_shows(gateway: Gateway) -> None:
    """In the order of the tabs, as a person goes through them."""
    shown, before = set(), None
    for name, text, example in operations(""):
        if text.startswith("subscription"):
            continue
        if name in GIVEN:
            token, place, quoted = GIVEN[name]
            text = text.replace(place, quoted.format(*found(before, token)))
        asked = gateway.as_service if example.as_service else gateway
        before = await asked.data(text, None if example.as_service else ME)
        assert found(before, "outcome") == promised(text), name
        if not promised(text):
            shown.add(name)
            assert SHOWS[name](before), (name, before)
    assert shown == set(SHOWS)


@pytest.mark.usefixtures("sampled")
async def test_every_subscription_receives_a_follow(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    received: dict[str, Any] = {}
    async with live_gateway(storage_settings) as live, live.socket(viewer=ME) as socket:
        for name, text, _ in operations("subscription"):
            await socket.subscribe(text, name)
        firsts = {"LiveButtons", "LiveCounts"}
        while firsts:
            firsts.discard((await socket.receive())["id"])
        await until(lambda: has_feed(stores, ME))
        await follows(stores, (ME, 399))
        await drain_all(stores)
        while len(received) < 3:
            answer = await socket.receive()
            received[answer["id"]] = answer["payload"]["data"]
    assert found(received["Live"], "type") == ["FOLLOWED"]
    assert found(received["LiveButtons"], "state") == ["FOLLOWING"]
    assert found(received["LiveCounts"], "followingCount") == [33]


@pytest.mark.usefixtures("sampled")
async def test_the_readme_shows_what_can_be_asked(gateway: Gateway) -> None:
    for example in readable("../README"):
        answer = await example.ask(gateway)
        assert example.data in (None, answer), example.document
        assert found(answer, "outcome") == promised(example.document)
