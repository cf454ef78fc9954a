"""The sample graph of `make dev` contains every kind and flag, and entries for every list."""

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

VIEWER = 1


@pytest.fixture
async def sampled(storage_settings: StorageSettings, tmp_path: Path) -> Config:
    """Load the sample graph."""
    config = Config(storage_settings, DEVELOPMENT, Policy())
    await load_sample(config, tmp_path)
    return config


@pytest.mark.usefixtures("sampled")
async def test_every_kind_and_flag_exists_between_user_1_and_another_user(stores: Stores) -> None:
    for end_column in ("from_user_id", "to_user_id"):
        rows = await stores.servers.postgres.fetch(
            f"SELECT kind FROM following WHERE {end_column} = $1", VIEWER
        )
        assert {Kind(kind) for (kind,) in rows} >= {*Kind} - {Kind.NONE}
    rows = await stores.servers.postgres.fetch(
        "SELECT kind, flags FROM following WHERE from_user_id = $1", VIEWER
    )
    assert Kind.NONE in {kind for kind, _ in rows}
    assert {flag for _, flags in rows for flag in Flags(flags)} == {*Flags} - {Flags.PLAIN}
    assert not await stores.jobs.lanes.progress.lanes_with_changes()


OWN_LISTS = """{ viewer {
  closeFollows { totalCount }
  blockedUsers { totalCount }
  outgoingFollowRequests { nodes { message } }
  incomingFollowRequests { nodes { message } }
  mutedUsers { edges { mutedUntil } }
  user { following { totalCount } followers { totalCount } friends { totalCount } }
} }"""


@pytest.mark.usefixtures("sampled")
async def test_no_list_of_user_1_is_empty(gateway: Gateway) -> None:
    own = (await gateway.data(OWN_LISTS, VIEWER))["viewer"]
    for name in ("following", "followers", "friends"):
        assert own["user"][name]["totalCount"] > 3
    assert own["closeFollows"]["totalCount"] == own["blockedUsers"]["totalCount"] == 1
    for name in ("outgoingFollowRequests", "incomingFollowRequests"):
        messages = [bool(request["message"]) for request in own[name]["nodes"]]
        assert sorted(messages) == [False, True]
    ends = [edge["mutedUntil"] for edge in own["mutedUsers"]["edges"]]
    assert sorted(end is None for end in ends) == [False, True]


@pytest.mark.usefixtures("sampled")
async def test_user_1_has_written_a_private_note(gateway: Gateway) -> None:
    query = """{ user(id: "403") { viewerRelation { note } } }"""
    assert (await gateway.data(query, VIEWER))["user"]["viewerRelation"]["note"] == "Met in Lisbon."


@pytest.mark.usefixtures("sampled")
async def test_user_1_has_groups(gateway: Gateway) -> None:
    query = "{ viewer { followGroups { name memberCount } } }"
    assert (await gateway.data(query, VIEWER))["viewer"]["followGroups"] == [
        {"name": "Lisbon", "memberCount": 3},
        {"name": "Work", "memberCount": 2},
    ]


@pytest.mark.usefixtures("sampled")
async def test_every_audience_and_every_kind_of_access_occurs(
    gateway: Gateway, stores: Stores
) -> None:
    query = "query ($ids: [ID!]!) { users(ids: $ids) { following { access totalCount } } }"
    users = await gateway.data(query, VIEWER, ids=[str(user) for user in (VIEWER, *CAST)])
    found = {user["following"]["access"] for user in users["users"]}
    assert found == {access.value for access in Access}
    rows = await stores.servers.postgres.fetch("SELECT DISTINCT following_audience FROM account")
    assert {Audience(audience) for (audience,) in rows} == set(Audience)


SUGGESTIONS_AND_FRIENDS = """{ viewer {
  suggestions(first: 100) { nodes { user { id } reason knownFollowerCount } }
  user { friends { nodes { id } } closest: friends(orderBy: {field: AFFINITY}) { nodes { id } } }
} }"""


@pytest.mark.usefixtures("sampled")
async def test_interactions_of_user_1_order_suggestions_and_friends(gateway: Gateway) -> None:
    viewer = (await gateway.data(SUGGESTIONS_AND_FRIENDS, VIEWER))["viewer"]
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
    assert (await gateway.data(changes, VIEWER))["unfollowUser"]["outcome"] == "UNFOLLOWED"
    await load_sample(sampled, tmp_path)
    await load_sample(sampled, tmp_path / "elsewhere")
    query = "{ viewer { closeFollows { totalCount } } }"
    assert (await gateway.data(query, VIEWER))["viewer"]["closeFollows"]["totalCount"] == 0


async def test_loading_again_after_an_interruption_changes_no_list(
    sampled: Config, gateway: Gateway, tmp_path: Path
) -> None:
    unfinished = tmp_path / f"sample-{sampled.storage.space}.csv"
    before = await gateway.data(OWN_LISTS, VIEWER)
    unfinished.with_suffix(".loaded.csv").rename(unfinished)
    await load_sample(sampled, tmp_path)
    assert await gateway.data(OWN_LISTS, VIEWER) == before
