"""The sample graph of `make dev` holds every state, and everything that a list can answer."""

from pathlib import Path

import pytest

from gateway.sample import CAST, load_sample
from gateway.settings.config import Config
from graph.edge import Flags, Kind
from graph.privacy import Audience
from graph.suggestion import Reason
from graph.visibility import Access
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import DEVELOPMENT, Gateway

ME = 1


@pytest.fixture
async def sampled(storage_settings: StorageSettings, tmp_path: Path) -> Config:
    config = Config(storage_settings, DEVELOPMENT, Policy())
    await load_sample(config, tmp_path)
    return config


@pytest.mark.usefixtures("sampled")
async def test_every_kind_and_flag_exists_between_user_1_and_another_user(stores: Stores) -> None:
    for whose in ("from_user_id", "to_user_id"):
        rows = await stores.servers.postgres.fetch(
            f"SELECT kind FROM following WHERE {whose} = $1", ME
        )
        assert {Kind(kind) for (kind,) in rows} >= {*Kind} - {Kind.NONE}
    rows = await stores.servers.postgres.fetch(
        "SELECT kind, flags FROM following WHERE from_user_id = $1", ME
    )
    assert Kind.NONE in {kind for kind, _ in rows}
    assert {flag for _, flags in rows for flag in Flags(flags)} == {*Flags} - {Flags.PLAIN}
    assert not await stores.jobs.lanes.progress.dirty()


OWN_LISTS = """{ viewer {
  closeFollows { totalCount }
  blockedUsers { totalCount }
  outgoingFollowRequests { nodes { message } }
  incomingFollowRequests { nodes { message } }
  mutedUsers { edges { mutedUntil } }
  user { following { totalCount } followers { totalCount } friends { totalCount } }
} }"""


@pytest.mark.usefixtures("sampled")
async def test_every_list_of_user_1_has_somebody_in_it(gateway: Gateway) -> None:
    mine = (await gateway.data(OWN_LISTS, ME))["viewer"]
    for one in ("following", "followers", "friends"):
        assert mine["user"][one]["totalCount"] > 3
    assert mine["closeFollows"]["totalCount"] == mine["blockedUsers"]["totalCount"] == 1
    for one in ("outgoingFollowRequests", "incomingFollowRequests"):
        messages = [bool(request["message"]) for request in mine[one]["nodes"]]
        assert sorted(messages) == [False, True]
    ends = [edge["mutedUntil"] for edge in mine["mutedUsers"]["edges"]]
    assert sorted(end is None for end in ends) == [False, True]


@pytest.mark.usefixtures("sampled")
async def test_user_1_has_a_note(gateway: Gateway) -> None:
    query = """{ user(id: "403") { viewerRelation { note } } }"""
    assert (await gateway.data(query, ME))["user"]["viewerRelation"]["note"] == "Met in Lisbon."


@pytest.mark.usefixtures("sampled")
async def test_user_1_has_groups(gateway: Gateway) -> None:
    query = "{ viewer { followGroups { name memberCount } } }"
    assert (await gateway.data(query, ME))["viewer"]["followGroups"] == [
        {"name": "Lisbon", "memberCount": 3},
        {"name": "Work", "memberCount": 2},
    ]


@pytest.mark.usefixtures("sampled")
async def test_every_audience_and_every_kind_of_access_is_met(
    gateway: Gateway, stores: Stores
) -> None:
    query = "query ($ids: [ID!]!) { users(ids: $ids) { following { access totalCount } } }"
    users = await gateway.data(query, ME, ids=[str(user) for user in (ME, *CAST)])
    met = {user["following"]["access"] for user in users["users"]}
    assert met == {access.value for access in Access}
    rows = await stores.servers.postgres.fetch("SELECT DISTINCT following_audience FROM account")
    assert {Audience(audience) for (audience,) in rows} == set(Audience)


SUGGESTED = """{ viewer {
  suggestions(first: 100) { nodes { user { id } reason knownFollowerCount } }
  user { friends { nodes { id } } closest: friends(orderBy: {field: AFFINITY}) { nodes { id } } }
} }"""


@pytest.mark.usefixtures("sampled")
async def test_interactions_of_user_1_order_suggestions_and_friends(gateway: Gateway) -> None:
    viewer = (await gateway.data(SUGGESTED, ME))["viewer"]
    suggested = viewer["suggestions"]["nodes"]
    assert [one["user"]["id"] for one in suggested[:2]] == ["417", "418"]
    assert {one["reason"] for one in suggested} == {
        Reason.FOLLOWS_YOU.value,
        Reason.FRIENDS_OF_FRIENDS.value,
    }
    assert "419" not in [one["user"]["id"] for one in suggested]
    newest, closest = (
        [friend["id"] for friend in viewer["user"][order]["nodes"]]
        for order in ("friends", "closest")
    )
    assert closest[:2] == ["404", "403"]
    assert newest != closest


async def test_changes_to_the_sample_survive_a_restart(
    sampled: Config, gateway: Gateway, tmp_path: Path
) -> None:
    changes = 'mutation { unfollowUser(input: {userId: "403"}) { outcome } }'
    assert (await gateway.data(changes, ME))["unfollowUser"]["outcome"] == "UNFOLLOWED"
    await load_sample(sampled, tmp_path)
    await load_sample(sampled, tmp_path / "elsewhere")
    query = "{ viewer { closeFollows { totalCount } } }"
    assert (await gateway.data(query, ME))["viewer"]["closeFollows"]["totalCount"] == 0


async def test_where_it_was_broken_off_it_goes_on(
    sampled: Config, gateway: Gateway, tmp_path: Path
) -> None:
    begun = tmp_path / f"sample-{sampled.storage.space}.csv"
    before = await gateway.data(OWN_LISTS, ME)
    begun.with_suffix(".loaded.csv").rename(begun)
    await load_sample(sampled, tmp_path)
    assert await gateway.data(OWN_LISTS, ME) == before
