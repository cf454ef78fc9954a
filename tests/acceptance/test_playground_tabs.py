"""Every example of the playground runs on the sample graph and has the documented result."""

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
from tests.support.documentation import examples as documented_examples
from tests.support.documentation import found, promised
from tests.support.gateway import DEVELOPMENT, Gateway
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import has_feed, live_gateway
from tests.support.waiting import until

VIEWER = 1
UNDO, FRESH, IF_UNCHANGED = "Undo", "Fresh", "IfUnchanged"
MEMBERS, ADD_MEMBERS = "Members", "AddMembers"
COPIED_VALUES = {
    UNDO: ("undoToken", '"…"', '"{}"'),
    FRESH: ("consistencyToken", "null", '"{}"'),
    IF_UNCHANGED: ("version", '"…"', '"{}"'),
    MEMBERS: ("id", '"…"', '"{}"'),
    ADD_MEMBERS: ("id", '"…"', '"{}"'),
}
"""By operation: the field of the previous response whose value a person copies, the text of the
operation that it replaces, and the format of the value."""


@pytest.fixture
async def sampled(storage_settings: StorageSettings, tmp_path: Path) -> None:
    """Load the sample graph."""
    await load_sample(Config(storage_settings, DEVELOPMENT, Policy()), tmp_path)


def operations(keyword: str) -> Iterator[tuple[str, str, Example]]:
    """(name, text, example) of all operations that begin with `keyword`, in the order of the
    tabs."""
    for example in examples():
        for one in parse(example.document).definitions:
            assert one.loc is not None
            text = example.document[one.loc.start : one.loc.end]
            if text.startswith(keyword):
                yield text.split()[1], text, example


SHOWS_FEATURE: dict[str, Callable[[Any], bool]] = {
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
    "Fresh": lambda a: str(VIEWER) in found(a, "id") and found(a, "degraded") == [False],
}
"""By operation without an `outcome`: whether its response shows what the example is about."""


@pytest.mark.usefixtures("sampled")
async def test_every_query_and_mutation_returns_what_its_example_promises(gateway: Gateway) -> None:
    """In the order of the tabs, because an operation may use a value of the response before it."""
    checked, previous = set(), None
    for name, text, example in operations(""):
        if text.startswith("subscription"):
            continue
        if name in COPIED_VALUES:
            field, placeholder, value_format = COPIED_VALUES[name]
            text = text.replace(placeholder, value_format.format(*found(previous, field)))
        caller = gateway.as_service if example.as_service else gateway
        previous = await caller.data(text, None if example.as_service else VIEWER)
        assert found(previous, "outcome") == promised(text), name
        if not promised(text):
            checked.add(name)
            assert SHOWS_FEATURE[name](previous), (name, previous)
    assert checked == set(SHOWS_FEATURE)


@pytest.mark.usefixtures("sampled")
async def test_every_subscription_receives_a_follow(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    received: dict[str, Any] = {}
    async with live_gateway(storage_settings) as live, live.socket(viewer=VIEWER) as socket:
        for name, text, _ in operations("subscription"):
            await socket.subscribe(text, name)
        without_first_result = {"LiveButtons", "LiveCounts"}
        while without_first_result:
            without_first_result.discard((await socket.receive())["id"])
        await until(lambda: has_feed(stores, VIEWER))
        await follows(stores, (VIEWER, 399))
        await drain_all(stores)
        while len(received) < 3:
            answer = await socket.receive()
            received[answer["id"]] = answer["payload"]["data"]
    assert found(received["Live"], "type") == ["FOLLOWED"]
    assert found(received["LiveButtons"], "state") == ["FOLLOWING"]
    assert found(received["LiveCounts"], "followingCount") == [33]


@pytest.mark.usefixtures("sampled")
async def test_the_queries_of_the_readme_return_what_it_shows(gateway: Gateway) -> None:
    for example in documented_examples("../README"):
        answer = await example.ask(gateway)
        assert example.data in (None, answer), example.document
        assert found(answer, "outcome") == promised(example.document)
