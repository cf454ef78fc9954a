"""Groups of follows: only their owner sees them, and all members are followed by the owner."""

import asyncio
from typing import Any

import pytest

from graph.account_state import AccountState
from graph.edge import UserId
from graph.follow_group import AddMembers, CreateGroup, GroupId
from graph.pace import Pace
from resolvers import follow_groups
from resolvers.follow_groups import change_groups
from resolvers.policy import Policy
from resolvers.scope import Scope
from schema import relation
from schema.follow_group import group_text
from storage.postgres import follow_groups as stored_groups
from storage.stores import Stores
from tests.acceptance.test_costs import cost_since, counters
from tests.acceptance.test_private_notes import set_state
from tests.support.gateway import Gateway
from tests.support.graphs import follows
from tests.support.relationships import change

PAYLOAD_FIELDS = """outcome changed clientMutationId viewer { user { id } }
userErrors { code field ... on MembersNotFollowed { userIds }
             ... on GroupLimitReached { limit current } }"""
GROUP = "group { id name position memberCount }"
MUTATION_FIELDS = {
    "createFollowGroup": GROUP,
    "renameFollowGroup": GROUP,
    "reorderFollowGroups": "",
    "deleteFollowGroup": "deletedGroupId",
    "addToFollowGroup": GROUP,
    "removeFromFollowGroup": GROUP,
}
FOLLOW_GROUPS = "{ viewer { followGroups { id name position memberCount } } }"
MEMBERS = """
query ($ids: [ID!]!, $group: ID!, $first: Int, $after: String, $last: Int, $before: String,
       $direction: OrderDirection! = DESC) {
  users(ids: $ids) {
    following(filter: {groupId: $group}, first: $first, after: $after, last: $last,
              before: $before, orderBy: {direction: $direction}) {
      totalCount access nodes { id } edges { cursor followedAt }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
}
"""
GROUP_IDS = """query ($source: ID!, $targets: [ID!]!) {
    user(id: $source) { relationWith(ids: $targets) { groupIds } } }"""


async def mutate(gateway: Gateway, viewer: int, mutation: str, **given: Any) -> Any:
    """Send one mutation, and return its payload."""
    input_type = f"{mutation[0].upper()}{mutation[1:]}Input"
    query = f"""mutation ($input: {input_type}!) {{
        payload: {mutation}(input: $input) {{ {PAYLOAD_FIELDS} {MUTATION_FIELDS[mutation]} }} }}"""
    payload = (await gateway.data(query, viewer, input=given))["payload"]
    assert payload["changed"] == (payload["outcome"] in ("CREATED", "UPDATED", "DELETED"))
    return payload


async def outcome_of(
    gateway: Gateway, viewer: int, mutation: str, **given: Any
) -> tuple[Any, list[tuple[str, Any]]]:
    """The outcome of a mutation, and its errors as pairs of a code and the path in the input."""
    payload = await mutate(gateway, viewer, mutation, **given)
    errors = payload["userErrors"]
    return payload["outcome"], [
        (error["code"], ".".join(error["field"][1:]) if error["field"] else None)
        for error in errors
    ]


async def create_group(gateway: Gateway, viewer: int, name: str, *members: int) -> str:
    """Create a group with these members, and return its id."""
    payload = await mutate(gateway, viewer, "createFollowGroup", name=name)
    group: str = payload["group"]["id"]
    if members:
        await add_members(gateway, viewer, group, *members)
    return group


async def add_members(gateway: Gateway, viewer: int, group: str, *members: int) -> Any:
    users = [str(member) for member in members]
    return await outcome_of(gateway, viewer, "addToFollowGroup", groupId=group, userIds=users)


async def remove_members(gateway: Gateway, viewer: int, group: str, *members: int) -> Any:
    users = [str(member) for member in members]
    return await outcome_of(gateway, viewer, "removeFromFollowGroup", groupId=group, userIds=users)


async def groups(caller: Any, viewer: int | None) -> dict[str, int]:
    """The names of the viewer's groups in order, each with its number of members."""
    found = (await caller.data(FOLLOW_GROUPS, viewer))["viewer"]["followGroups"]
    assert [group["position"] for group in found] == list(range(len(found)))
    return {group["name"]: group["memberCount"] for group in found}


async def page_of_members(gateway: Gateway, viewer: int, group: str, **paging: Any) -> Any:
    answer = await gateway.data(MEMBERS, viewer, ids=[str(viewer)], group=group, **paging)
    return answer["users"][0]["following"]


def ids(page: Any) -> list[int]:
    return [int(node["id"]) for node in page["nodes"]]


async def member_ids(gateway: Gateway, viewer: int, group: str) -> list[int]:
    """All members of a group, which must fit on one page."""
    found = await page_of_members(gateway, viewer, group)
    assert found["totalCount"] == len(found["nodes"])
    return ids(found)


async def group_ids(caller: Any, viewer: int | None, source: int, *targets: int) -> Any:
    """The groups of source that each target is in, as the viewer sees them."""
    given = {"source": str(source), "targets": [str(target) for target in targets]}
    relations = (await caller.data(GROUP_IDS, viewer, **given))["user"]["relationWith"]
    return [relation["groupIds"] for relation in relations]


async def test_groups_are_created_renamed_ordered_and_deleted(gateway: Gateway) -> None:
    first = await create_group(gateway, 1, "Work")
    second = await create_group(gateway, 1, "Family ☕")
    third = await create_group(gateway, 1, "Work")
    assert first.startswith("group:1:")
    found = (await gateway.data(FOLLOW_GROUPS, 1))["viewer"]["followGroups"]
    assert [(group["id"], group["name"]) for group in found] == [
        (first, "Work"),
        (second, "Family ☕"),
        (third, "Work"),
    ]
    renamed = await mutate(gateway, 1, "renameFollowGroup", groupId=third, name="Sport")
    assert renamed["group"] == {"id": third, "name": "Sport", "position": 2, "memberCount": 0}
    assert await outcome_of(gateway, 1, "renameFollowGroup", groupId=third, name="Sport") == (
        "UNCHANGED",
        [],
    )
    for order, names in (
        ([third], ["Sport", "Work", "Family ☕"]),
        ([second, first, third], ["Family ☕", "Work", "Sport"]),
        ([third, third], ["Sport", "Family ☕", "Work"]),
    ):
        assert await outcome_of(gateway, 1, "reorderFollowGroups", groupIds=order) == (
            "UPDATED",
            [],
        )
        assert list(await groups(gateway, 1)) == names
    assert await outcome_of(gateway, 1, "reorderFollowGroups", groupIds=[third]) == (
        "UNCHANGED",
        [],
    )
    await create_group(gateway, 1, "Last")
    assert list(await groups(gateway, 1)) == ["Sport", "Family ☕", "Work", "Last"]
    payload = await mutate(gateway, 1, "deleteFollowGroup", groupId=second, clientMutationId="c")
    assert (payload["outcome"], payload["deletedGroupId"]) == ("DELETED", second)
    assert (payload["clientMutationId"], payload["viewer"]) == ("c", {"user": {"id": "1"}})
    assert list(await groups(gateway, 1)) == ["Sport", "Work", "Last"]
    payload = await mutate(gateway, 1, "deleteFollowGroup", groupId=second)
    assert (payload["outcome"], payload["deletedGroupId"]) == ("UNCHANGED", None)


async def test_members_are_paged_by_the_date_of_the_follow(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, *((1, user) for user in range(2, 9)))
    group = await create_group(gateway, 1, "Some", 7, 3, 5, 2)
    assert await groups(gateway, 1) == {"Some": 4}
    for direction, whole in (("DESC", [7, 5, 3, 2]), ("ASC", [2, 3, 5, 7])):
        found = await page_of_members(gateway, 1, group, direction=direction)
        assert (ids(found), found["totalCount"], found["access"]) == (whole, 4, "VISIBLE")
        found = await page_of_members(gateway, 1, group, direction=direction, first=3)
        assert (ids(found), found["totalCount"]) == (whole[:3], 4)
        assert found["pageInfo"]["hasNextPage"]
        end = found["pageInfo"]["endCursor"]
        found = await page_of_members(gateway, 1, group, direction=direction, first=3, after=end)
        assert (ids(found), found["pageInfo"]["hasNextPage"]) == (whole[3:], False)
        start = found["pageInfo"]["startCursor"]
        found = await page_of_members(gateway, 1, group, direction=direction, last=2, before=start)
        assert (ids(found), found["pageInfo"]["hasPreviousPage"]) == (whole[1:3], True)
    found = await page_of_members(gateway, 1, group, first=0)
    assert (ids(found), found["totalCount"], found["pageInfo"]["hasNextPage"]) == ([], 4, True)


async def test_the_dates_and_cursors_of_members_are_those_of_the_following_list(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3))
    group = await create_group(gateway, 1, "Some", 2)
    whole = '{ user(id: "1") { following { edges { cursor followedAt } } } }'
    edges = (await gateway.data(whole, 1))["user"]["following"]["edges"]
    assert (await page_of_members(gateway, 1, group))["edges"] == edges[1:]
    assert ids(await page_of_members(gateway, 1, group, after=edges[0]["cursor"])) == [2]


async def test_adding_or_removing_a_member_twice_changes_nothing(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3))
    group = await create_group(gateway, 1, "Some")
    assert await member_ids(gateway, 1, group) == []
    assert await add_members(gateway, 1, group, 2, 2) == ("UPDATED", [])
    assert await add_members(gateway, 1, group, 2) == ("UNCHANGED", [])
    assert await add_members(gateway, 1, group) == ("UNCHANGED", [])
    payload = await mutate(gateway, 1, "addToFollowGroup", groupId=group, userIds=["2", "3"])
    assert (payload["outcome"], payload["group"]["memberCount"]) == ("UPDATED", 2)
    assert await remove_members(gateway, 1, group, 2, 9) == ("UPDATED", [])
    assert await remove_members(gateway, 1, group, 2) == ("UNCHANGED", [])
    assert await member_ids(gateway, 1, group) == [3]


async def test_removing_a_hidden_member_changes_nothing(gateway: Gateway, stores: Stores) -> None:
    """Otherwise the outcome would tell a deactivated account from a deleted one."""
    await follows(stores, *((1, user) for user in range(2, 6)))
    group = await create_group(gateway, 1, "Some", *range(2, 6))
    ended = await change(gateway, 1, "unfollowUser", 2)
    await set_state(gateway, "deactivateAccount", 3)
    await set_state(gateway, "deleteAccount", 4)
    for user in (2, 3, 4):
        assert await remove_members(gateway, 1, group, user) == ("UNCHANGED", []), user
    await change(gateway, 1, "undoRelationshipChange", undoToken=ended["undoToken"])
    await set_state(gateway, "reactivateAccount", 3)
    assert await member_ids(gateway, 1, group) == [5, 3, 2]
    assert await remove_members(gateway, 1, group, 2, 3, 5) == ("UPDATED", [])
    assert await member_ids(gateway, 1, group) == []


async def test_no_user_is_added_if_one_of_them_is_not_followed(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 5), (3, 1))
    await change(gateway, 1, "followUser", 4, visibility="WHISPER")
    await set_state(gateway, "deactivateAccount", 5)
    group = await create_group(gateway, 1, "Some")
    payload = await mutate(
        gateway, 1, "addToFollowGroup", groupId=group, userIds=["2", "3", "1", "5"]
    )
    assert payload["outcome"] == "REJECTED"
    assert payload["userErrors"] == [
        {
            "code": "MEMBERS_NOT_FOLLOWED",
            "field": ["input", "userIds"],
            "userIds": ["3", "1", "5"],
        }
    ]
    assert payload["group"]["memberCount"] == 0
    assert await add_members(gateway, 1, group, 2, 4) == ("UPDATED", [])
    assert await member_ids(gateway, 1, group) == [4, 2]


async def test_a_member_leaves_when_the_follow_ends_and_returns_when_it_is_restored(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3), (2, 1))
    group = await create_group(gateway, 1, "Some", 2, 3)
    for viewer, mutation, other in (
        (1, "unfollowUser", 2),
        (2, "removeFollower", 1),
        (1, "blockUser", 2),
        (2, "blockUser", 1),
    ):
        ended = await change(gateway, viewer, mutation, other)
        assert await member_ids(gateway, 1, group) == [3], mutation
        assert await groups(gateway, 1) == {"Some": 1}
        assert await group_ids(gateway, 1, 1, 2, 3) == [[], [group]]
        undone = await change(
            gateway, viewer, "undoRelationshipChange", undoToken=ended["undoToken"]
        )
        assert undone["outcome"] == "RESTORED", mutation
        assert await member_ids(gateway, 1, group) == [3, 2], mutation
        assert await group_ids(gateway, 1, 1, 2, 3) == [[group], [group]]


async def test_a_new_follow_is_in_no_group(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2))
    group, other = (
        await create_group(gateway, 1, "Some", 2),
        await create_group(gateway, 1, "Other", 2),
    )
    await change(gateway, 1, "unfollowUser", 2)
    await follows(stores, (1, 2))
    assert await member_ids(gateway, 1, group) == []
    assert await add_members(gateway, 1, group, 2) == ("UPDATED", [])
    assert await member_ids(gateway, 1, group) == [2]
    rows = await stores.servers.postgres.fetch("SELECT group_id FROM follow_group_member")
    assert [f"group:1:{row['group_id']}" for row in rows] == [group], "the other one is deleted"
    assert await member_ids(gateway, 1, other) == []


async def test_a_follow_that_is_changed_stays_in_its_groups(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2))
    group = await create_group(gateway, 1, "Some", 2)
    await change(gateway, 1, "updateFollow", 2, visibility="WHISPER", closeFollow=True)
    await change(gateway, 1, "muteUser", 2)
    assert await member_ids(gateway, 1, group) == [2]


async def test_absent_members_are_hidden_until_they_are_reactivated(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, *((1, user) for user in range(2, 7)))
    group = await create_group(gateway, 1, "Some", *range(2, 7))
    await set_state(gateway, "deactivateAccount", 5)
    assert await member_ids(gateway, 1, group) == [6, 4, 3, 2]
    found = await page_of_members(gateway, 1, group, first=2)
    assert (ids(found), found["totalCount"]) == ([6, 4], 4)
    assert await groups(gateway, 1) == {"Some": 4}
    assert await group_ids(gateway, 1, 1, 5, 6) == [[], [group]]
    await set_state(gateway, "reactivateAccount", 5)
    assert await member_ids(gateway, 1, group) == [6, 5, 4, 3, 2]
    await set_state(gateway, "deleteAccount", 4)
    assert await member_ids(gateway, 1, group) == [6, 5, 3, 2]


async def test_only_the_owner_of_a_group_sees_and_changes_it(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (3, 2), (3, 1))
    group = await create_group(gateway, 1, "Mine", 2)
    own = await create_group(gateway, 3, "Theirs", 2)
    node = "query ($id: ID!) { node(id: $id) { id ... on FollowGroup { name memberCount } } }"
    seen = {"node": {"id": group, "name": "Mine", "memberCount": 1}}
    assert await gateway.data(node, 1, id=group) == seen
    assert await gateway.as_service.data(node, 1, id=group) == seen, "a service acting for user 1"
    assert await group_ids(gateway, 1, 1, 2) == [[group]]
    for caller, viewer in ((gateway, 2), (gateway, 3), (gateway, None), (gateway.as_service, None)):
        assert await caller.data(node, viewer, id=group) == {"node": None}
        assert await group_ids(caller, viewer, 1, 2) == [None]
    assert await groups(gateway, 3) == {"Theirs": 1}
    for caller in (gateway, gateway.as_service):
        assert (await caller.data(FOLLOW_GROUPS, None))["viewer"] is None
        error = await caller.error(MEMBERS, None, ids=["1"], group=group)
        assert error["extensions"]["code"] == "UNAUTHENTICATED"
    for given, field in ((group, "filter.groupId"), ("group:3:1", "filter.groupId")):
        error = await gateway.error(MEMBERS, 3, ids=["3"], group=given)
        assert error["extensions"]["code"] == "BAD_USER_INPUT"
        assert error["extensions"]["argument"] == field
    missing = ("REJECTED", [("GROUP_NOT_FOUND", "groupId")])
    assert await outcome_of(gateway, 3, "renameFollowGroup", groupId=group, name="x") == missing
    assert await add_members(gateway, 3, group, 2) == missing
    assert await remove_members(gateway, 3, group, 2) == missing
    assert (await outcome_of(gateway, 3, "deleteFollowGroup", groupId=group))[0] == "UNCHANGED"
    order = await outcome_of(gateway, 3, "reorderFollowGroups", groupIds=[group, own])
    assert order == ("UNCHANGED", [])
    assert await member_ids(gateway, 1, group) == [2]


async def test_only_the_viewers_own_list_can_be_filtered_by_a_group(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (3, 2))
    group = await create_group(gateway, 1, "Mine", 2)
    answer = await gateway.answer(MEMBERS, 1, ids=["1", "3"], group=group)
    own, other = answer["data"]["users"]
    assert (ids(own["following"]), other) == ([2], None)
    (error,) = answer["errors"]
    assert error["message"] == "`filter.groupId` can be used only for the viewer's own list."


@pytest.mark.parametrize(
    ("mutation", "given", "field"),
    [
        ("createFollowGroup", {"name": ""}, "name"),
        ("createFollowGroup", {"name": " "}, "name"),
        ("createFollowGroup", {"name": "x" * 51}, "name"),
        ("createFollowGroup", {"name": "two\nlines"}, "name"),
        ("createFollowGroup", {"name": "null \u0000"}, "name"),
        ("createFollowGroup", {"name": "two\u2028lines"}, "name"),
        ("createFollowGroup", {"name": "x", "idempotencyKey": ""}, "idempotencyKey"),
        ("renameFollowGroup", {"groupId": "group:1:1", "name": ""}, "name"),
        ("renameFollowGroup", {"groupId": "7", "name": "x"}, "groupId"),
        ("deleteFollowGroup", {"groupId": "relation:1:2"}, "groupId"),
        ("reorderFollowGroups", {"groupIds": ["group:1:1"] * 101}, "groupIds"),
        ("reorderFollowGroups", {"groupIds": ["group:1:1", "group:1"]}, "groupIds.1"),
        ("addToFollowGroup", {"groupId": "group:1:1", "userIds": ["x"]}, "userIds"),
        ("addToFollowGroup", {"groupId": "group:1:1", "userIds": ["2"] * 101}, "userIds"),
        ("removeFromFollowGroup", {"groupId": "group:1:0", "userIds": []}, "groupId"),
    ],
)
async def test_invalid_input_is_rejected(
    gateway: Gateway, mutation: str, given: dict[str, Any], field: str
) -> None:
    rejected = ("REJECTED", [("INVALID_INPUT", field)])
    assert await outcome_of(gateway, 1, mutation, **given) == rejected


async def test_a_name_has_at_most_50_characters(gateway: Gateway) -> None:
    await create_group(gateway, 1, "é" * 50)
    assert await groups(gateway, 1) == {"é" * 50: 0}


async def test_a_user_has_at_most_100_groups(gateway: Gateway, stores: Stores) -> None:
    await stores.servers.postgres.fetch(
        "INSERT INTO follow_group (user_id, group_id, name)"
        " SELECT 1, n, 'g' || n FROM generate_series(1, 99) n"
    )
    payloads = await asyncio.gather(
        *(mutate(gateway, 1, "createFollowGroup", name=name) for name in ("One", "Two"))
    )
    assert sorted(payload["outcome"] for payload in payloads) == ["CREATED", "REJECTED"]
    (rejected,) = (payload for payload in payloads if payload["outcome"] == "REJECTED")
    assert rejected["userErrors"] == [
        {"code": "GROUP_LIMIT_REACHED", "field": None, "limit": 100, "current": 100}
    ]
    assert len(await groups(gateway, 1)) == 100


async def test_a_repeated_request_returns_the_first_outcome(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2))
    given = {"name": "Once", "idempotencyKey": "a"}
    first = await mutate(gateway, 1, "createFollowGroup", **given)
    assert await mutate(gateway, 1, "createFollowGroup", **given) == first
    group = first["group"]["id"]
    added = {"groupId": group, "userIds": ["2"], "idempotencyKey": "b"}
    for _ in range(2):
        assert await outcome_of(gateway, 1, "addToFollowGroup", **added) == ("UPDATED", [])
        await remove_members(gateway, 1, group, 2)
    assert await member_ids(gateway, 1, group) == [], "the repeat has added nobody"
    reused = ("REJECTED", [("IDEMPOTENCY_KEY_REUSED", "idempotencyKey")])
    given["name"] = "Twice"
    assert await outcome_of(gateway, 1, "createFollowGroup", **given) == reused
    assert await groups(gateway, 1) == {"Once": 0}


async def test_concurrent_requests_with_one_key_create_one_group(gateway: Gateway) -> None:
    given = {"name": "Once", "idempotencyKey": "a"}
    requests = [mutate(gateway, 1, "createFollowGroup", **given) for _ in range(4)]
    payloads = await asyncio.gather(*requests)
    assert len({payload["group"]["id"] for payload in payloads}) == 1
    assert await groups(gateway, 1) == {"Once": 0}


async def test_an_inactive_viewer_cannot_create_a_group(gateway: Gateway, stores: Stores) -> None:
    await create_group(gateway, 1, "Mine")
    await stores.writes.account_states.change(UserId(1), AccountState.DEACTIVATED)
    rejected = ("REJECTED", [("ACCOUNT_NOT_ACTIVE", None)])
    assert await outcome_of(gateway, 1, "createFollowGroup", name="x") == rejected
    assert await groups(gateway, 1) == {"Mine": 0}


async def test_only_a_signed_in_user_changes_groups(gateway: Gateway) -> None:
    query = 'mutation { createFollowGroup(input: {name: "x"}) { outcome } }'
    for caller in (gateway, gateway.as_service):
        error = await caller.error(query, None)
        assert error["extensions"]["code"] == "UNAUTHENTICATED"


async def test_changes_of_groups_are_rate_limited(stores: Stores) -> None:
    await follows(stores, (1, 2))
    scope = Scope(stores, UserId(1), Policy(pace=Pace(interval_us=60_000_000, burst=2)))
    created = await change_groups(scope, follow_groups.CREATE, CreateGroup("One"))
    assert created.group is not None
    add_member = AddMembers(created.group.id, (UserId(2),))
    results = [
        await change_groups(scope, follow_groups.ADD, change)
        for change in (
            add_member,
            add_member,
            AddMembers(GroupId(5), ()),
            AddMembers(created.group.id, (UserId(3),)),
            CreateGroup("Two"),
        )
    ]
    assert [result.outcome.name for result in results] == [
        "UPDATED",
        "UNCHANGED",
        "GROUP_NOT_FOUND",
        "MEMBERS_NOT_FOLLOWED",
        "RATE_LIMITED",
    ]
    assert results[-1].retry_at is not None
    assert [group.name for group in await stores.own_data.follow_groups.get_many(UserId(1))] == [
        "One"
    ]


async def test_concurrent_changes_leave_no_member_without_a_group(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, *((1, user) for user in range(2, 6)))
    for _ in range(5):
        group = await create_group(gateway, 1, "Some", 2)
        changes = (
            add_members(gateway, 1, group, 3, 4),
            outcome_of(gateway, 1, "deleteFollowGroup", groupId=group),
            add_members(gateway, 1, group, 4, 5),
            remove_members(gateway, 1, group, 2),
        )
        results = await asyncio.gather(*changes)
        assert results[1] == ("DELETED", [])
        missing = ("REJECTED", [("GROUP_NOT_FOUND", "groupId")])
        assert all(result in (("UPDATED", []), missing) for result in (results[0], results[2]))
        assert not await stores.servers.postgres.fetch("SELECT 1 FROM follow_group_member")


async def test_an_unfollow_during_an_addition_leaves_no_member(
    gateway: Gateway, stores: Stores
) -> None:
    group = await create_group(gateway, 1, "Some")
    for user in range(2, 7):
        await follows(stores, (1, user))
        added, _ = await asyncio.gather(
            add_members(gateway, 1, group, user), change(gateway, 1, "unfollowUser", user)
        )
        assert added in (
            ("UPDATED", []),
            ("REJECTED", [("MEMBERS_NOT_FOLLOWED", "userIds")]),
        )
        assert await member_ids(gateway, 1, group) == []


async def test_many_members_whose_follow_has_ended_are_deleted_by_the_next_addition(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_groups, "ENDED_MAX", 3)
    group = await create_group(gateway, 1, "Some")
    postgres = stores.servers.postgres

    async def stored() -> set[int]:
        rows = await postgres.fetch("SELECT target_id FROM follow_group_member")
        return {row["target_id"] for row in rows}

    for user in range(2, 7):
        await follows(stores, (1, user))
        assert await add_members(gateway, 1, group, user) == ("UPDATED", [])
        await change(gateway, 1, "unfollowUser", user)
    assert await stored() == set(range(2, 7)), "an undo may restore them"
    await postgres.fetch("UPDATE following SET version = 1 WHERE to_user_id < 6")
    await follows(stores, (1, 8))
    assert await add_members(gateway, 1, group, 8) == ("UPDATED", [])
    assert await stored() == {6, 8}
    assert await member_ids(gateway, 1, group) == [8]


async def test_a_page_of_members_and_its_total_take_few_statements(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, *((1, user) for user in range(2, 9)))
    group = await create_group(gateway, 1, "Some", 2, 3, 4)
    await create_group(gateway, 1, "Others", 5, 6)
    costs: dict[int, list[float]] = {2: [], 3: []}
    for first, statements in costs.items():
        for field in ("nodes { id }", "totalCount", "nodes { id } totalCount"):
            arguments = f"first: {first}, filter: {{groupId: $group}}"
            query = f"""query ($group: ID!) {{
                user(id: "1") {{ following({arguments}) {{ {field} }} }} }}"""
            await gateway.data(query, 1, group=group)
            before = await counters(gateway)
            await gateway.data(query, 1, group=group)
            statements.append((await cost_since(gateway, before)).statements)
    assert costs == {2: [1, 2, 2], 3: [1, 1, 1]}, "a page of the whole list has its total"
    before = await counters(gateway)
    assert await groups(gateway, 1) == {"Some": 3, "Others": 2}
    assert (await cost_since(gateway, before)).statements == 2


async def test_the_groups_of_many_relations_take_one_statement(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (1, 2), (1, 3))
    first = await create_group(gateway, 1, "Some", 2, 3)
    second = await create_group(gateway, 1, "More", 2)
    await outcome_of(gateway, 1, "reorderFollowGroups", groupIds=[second])
    assert await group_ids(gateway, 1, 1, 3, 2, 4, 2) == [
        [first],
        [second, first],
        [],
        [second, first],
    ]
    query = """query ($ids: [ID!]!) { user(id: "1") { relationWith(ids: $ids) { %s } } }"""
    user_ids = [str(other) for other in range(2, 60)]
    await gateway.data(query % "state", 1, ids=user_ids)
    costs = []
    for field in ("state", "state groupIds"):
        before = await counters(gateway)
        await gateway.data(query % field, 1, ids=user_ids)
        costs.append(await cost_since(gateway, before))
    assert costs[1].statements == costs[0].statements + 1
    assert costs[1].round_trips == costs[0].round_trips


async def test_the_id_of_a_group_is_formatted_once_for_many_relations(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formatting it for each of 1,000 relations in 100 groups blocked the event loop for 60 ms."""
    await follows(stores, *((1, user) for user in range(2, 30)))
    groups = [await create_group(gateway, 1, name, *range(2, 30)) for name in ("a", "b", "c")]
    formatted: list[object] = []

    def counted_group_text(owner: UserId, group: GroupId) -> str:
        formatted.append(group)
        return group_text(owner, group)

    monkeypatch.setattr(relation, "group_text", counted_group_text)
    assert await group_ids(gateway, 1, 1, *range(2, 30)) == [groups] * 28
    assert len(formatted) == 3
