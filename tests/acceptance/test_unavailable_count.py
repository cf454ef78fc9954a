"""How many entries the viewer's own lists leave out because their accounts are absent."""

from typing import Any

from graph.edge import Flags, Kind
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.acceptance.test_private_notes import set_state
from tests.support.edges import edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import change

LEFT_OUT = "{ totalCount unavailableCount }"
CLOSEST = "orderBy: { field: AFFINITY }"
OWN = f"""{{ viewer {{
  closeFollows {LEFT_OUT} mutedUsers {LEFT_OUT} blockedUsers {LEFT_OUT}
  incomingFollowRequests {LEFT_OUT} outgoingFollowRequests {LEFT_OUT}
  user {{
    following {LEFT_OUT} followers {LEFT_OUT} friends {LEFT_OUT}
    closest: friends({CLOSEST}) {LEFT_OUT}
  }}
}} }}"""
PARTS = f"""{{ user(id: "1") {{
  followersYouKnow {LEFT_OUT} commonFollowing(with: "3") {LEFT_OUT}
  some: followers(filter: {{ viewerFollows: false }}) {LEFT_OUT}
  late: followers(filter: {{ since: "1970-01-01T00:00:00Z" }}) {LEFT_OUT}
}} }}"""
BOTH = f"""{{ users(ids: ["1", "2"]) {{
  following {LEFT_OUT} followers {LEFT_OUT} friends {LEFT_OUT} }} }}"""


async def left_out(caller: Any, viewer: int | None, query: str = BOTH) -> list[Any]:
    """Each list's two numbers, in the order of the query."""

    def numbers(answer: Any) -> list[Any]:
        if isinstance(answer, list):
            return [pair for item in answer for pair in numbers(item)]
        if "totalCount" in answer:
            return [(answer["totalCount"], answer["unavailableCount"])]
        return [pair for value in answer.values() for pair in numbers(value)]

    return numbers(await caller.data(query, viewer))


async def world(stores: Stores) -> None:
    """User 1 has edges of every kind with the user 9, and others."""
    await edges(
        stores,
        {
            (1, 9): (Kind.FOLLOW, Flags.CLOSE_FOLLOW | Flags.MUTED),
            (9, 1): Kind.FOLLOW,
            (1, 2): Kind.FOLLOW,
            (2, 1): Kind.FOLLOW,
            (3, 1): Kind.FOLLOW,
            (8, 1): Kind.WHISPER,
            (1, 8): Kind.WHISPER,
            (7, 1): Kind.REQUEST,
            (1, 7): Kind.REQUEST,
            (1, 6): Kind.BLOCK,
        },
    )
    await drain_all(stores)


async def test_own_lists_say_how_many_entries_they_leave_out(
    gateway: Gateway, stores: Stores
) -> None:
    await world(stores)
    close, muted, blocked, incoming, outgoing = (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)
    following, followers, friends = (3, 0), (4, 0), (2, 0)
    own = [close, muted, blocked, incoming, outgoing, following, followers, friends, friends]
    assert await left_out(gateway, 1, OWN) == own
    for user in (6, 7, 8, 9):
        await set_state(gateway, "deactivateAccount", user)
    close, incoming, outgoing = (0, 1), (0, 1), (0, 1)
    following, followers, friends = (1, 2), (2, 2), (1, 1)
    hidden = [close, muted, blocked, incoming, outgoing, following, followers, friends, friends]
    assert await left_out(gateway, 1, OWN) == hidden
    for user in (6, 7, 8, 9):
        await set_state(gateway, "reactivateAccount", user)
    assert await left_out(gateway, 1, OWN) == own


async def test_nobody_else_learns_it(gateway: Gateway, stores: Stores) -> None:
    await world(stores)
    await set_state(gateway, "deactivateAccount", 9)
    ones, twos = [(1, 1), (2, 1), (1, 1)], [(1, 0), (1, 0), (1, 0)]
    seen = await left_out(gateway, 1)
    assert [number for _, number in seen] == [1, 1, 1, None, None, None]
    assert await left_out(gateway, 2) == [
        *((total, None) for total, _ in ones),
        *twos,
    ]
    for viewer in (3, None):
        assert {number for _, number in await left_out(gateway, viewer)} == {None}
    everything = await left_out(gateway.as_service, None)
    assert everything[:3] == [(3, None), (4, None), (2, None)]
    assert await left_out(gateway.as_service, 1) == seen


async def test_parts_of_lists_do_not_say_it(gateway: Gateway, stores: Stores) -> None:
    await world(stores)
    await set_state(gateway, "deactivateAccount", 9)
    assert {number for _, number in await left_out(gateway, 1, PARTS)} == {None}


async def test_a_block_is_not_counted(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1), (1, 3), (3, 1))
    await drain_all(stores)
    await change(gateway, 2, "blockUser", 1)
    await change(gateway, 1, "blockUser", 3)
    await drain_all(stores)
    assert [number for _, number in (await left_out(gateway, 1))[:3]] == [0, 0, 0]


async def test_hidden_whispers_are_not_counted(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await world(stores)
    async with running_gateway(storage_settings, policy=Policy(whispers_hidden=True)) as gateway:
        await set_state(gateway, "deactivateAccount", 8)
        following, followers, *_ = await left_out(gateway, 1)
        assert (following, followers) == ((2, 1), (3, 0))


async def test_it_is_read_with_the_totals(gateway: Gateway, stores: Stores) -> None:
    await world(stores)
    await set_state(gateway, "deactivateAccount", 9)
    spent = []
    for query in (BOTH.replace("unavailableCount", ""), BOTH):
        await gateway.data(query, 1)
        before = await counters(gateway)
        await gateway.data(query, 1)
        spent.append(await cost_since(gateway, before))
    assert spent[0] == spent[1]
