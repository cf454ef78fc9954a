"""`unavailableCount`: how many entries of an own list are hidden because accounts are absent."""

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

COUNTS = "{ totalCount unavailableCount }"
CLOSEST = "orderBy: { field: AFFINITY }"
OWN_LISTS = f"""{{ viewer {{
  closeFollows {COUNTS} mutedUsers {COUNTS} blockedUsers {COUNTS}
  incomingFollowRequests {COUNTS} outgoingFollowRequests {COUNTS}
  user {{
    following {COUNTS} followers {COUNTS} friends {COUNTS}
    closest: friends({CLOSEST}) {COUNTS}
  }}
}} }}"""
PARTIAL_LISTS = f"""{{ user(id: "1") {{
  followersYouKnow {COUNTS} commonFollowing(with: "3") {COUNTS}
  some: followers(filter: {{ viewerFollows: false }}) {COUNTS}
  late: followers(filter: {{ since: "1970-01-01T00:00:00Z" }}) {COUNTS}
}} }}"""
TWO_USERS = f"""{{ users(ids: ["1", "2"]) {{
  following {COUNTS} followers {COUNTS} friends {COUNTS} }} }}"""


async def counts(caller: Any, viewer: int | None, query: str = TWO_USERS) -> list[Any]:
    """(totalCount, unavailableCount) of each list, in the order of the query."""

    def pairs_of(answer: Any) -> list[Any]:
        if isinstance(answer, list):
            return [pair for item in answer for pair in pairs_of(item)]
        if "totalCount" in answer:
            return [(answer["totalCount"], answer["unavailableCount"])]
        return [pair for value in answer.values() for pair in pairs_of(value)]

    return pairs_of(await caller.data(query, viewer))


async def write_graph(stores: Stores) -> None:
    """User 1 has edges of every kind to and from other users."""
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


async def test_own_lists_count_the_entries_that_absent_accounts_hide(
    gateway: Gateway, stores: Stores
) -> None:
    await write_graph(stores)
    close, muted, blocked, incoming, outgoing = (1, 0), (1, 0), (1, 0), (1, 0), (1, 0)
    following, followers, friends = (3, 0), (4, 0), (2, 0)
    own = [close, muted, blocked, incoming, outgoing, following, followers, friends, friends]
    assert await counts(gateway, 1, OWN_LISTS) == own
    for user in (6, 7, 8, 9):
        await set_state(gateway, "deactivateAccount", user)
    close, incoming, outgoing = (0, 1), (0, 1), (0, 1)
    following, followers, friends = (1, 2), (2, 2), (1, 1)
    hidden = [close, muted, blocked, incoming, outgoing, following, followers, friends, friends]
    assert await counts(gateway, 1, OWN_LISTS) == hidden
    for user in (6, 7, 8, 9):
        await set_state(gateway, "reactivateAccount", user)
    assert await counts(gateway, 1, OWN_LISTS) == own


async def test_unavailable_count_is_null_except_in_own_lists(
    gateway: Gateway, stores: Stores
) -> None:
    await write_graph(stores)
    await set_state(gateway, "deactivateAccount", 9)
    of_user_1, of_user_2 = [(1, 1), (2, 1), (1, 1)], [(1, 0), (1, 0), (1, 0)]
    seen = await counts(gateway, 1)
    assert [number for _, number in seen] == [1, 1, 1, None, None, None]
    assert await counts(gateway, 2) == [
        *((total, None) for total, _ in of_user_1),
        *of_user_2,
    ]
    for viewer in (3, None):
        assert {number for _, number in await counts(gateway, viewer)} == {None}
    to_service = await counts(gateway.as_service, None)
    assert to_service[:3] == [(3, None), (4, None), (2, None)]
    assert await counts(gateway.as_service, 1) == seen


async def test_unavailable_count_is_null_in_filtered_lists_and_overlaps(
    gateway: Gateway, stores: Stores
) -> None:
    await write_graph(stores)
    await set_state(gateway, "deactivateAccount", 9)
    assert {number for _, number in await counts(gateway, 1, PARTIAL_LISTS)} == {None}


async def test_blocks_are_not_counted_as_unavailable(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (2, 1), (1, 3), (3, 1))
    await drain_all(stores)
    await change(gateway, 2, "blockUser", 1)
    await change(gateway, 1, "blockUser", 3)
    await drain_all(stores)
    assert [number for _, number in (await counts(gateway, 1))[:3]] == [0, 0, 0]


async def test_hidden_whispers_are_not_counted_as_unavailable(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    await write_graph(stores)
    async with running_gateway(storage_settings, policy=Policy(whispers_hidden=True)) as gateway:
        await set_state(gateway, "deactivateAccount", 8)
        following, followers, *_ = await counts(gateway, 1)
        assert (following, followers) == ((2, 1), (3, 0))


async def test_unavailable_count_costs_nothing_beside_the_totals(
    gateway: Gateway, stores: Stores
) -> None:
    await write_graph(stores)
    await set_state(gateway, "deactivateAccount", 9)
    costs = []
    for query in (TWO_USERS.replace("unavailableCount", ""), TWO_USERS):
        await gateway.data(query, 1)
        before = await counters(gateway)
        await gateway.data(query, 1)
        costs.append(await cost_since(gateway, before))
    assert costs[0] == costs[1]
