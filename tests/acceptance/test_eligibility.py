"""The fields that tell whether a viewer may follow a user, for all relations and settings."""

from dataclasses import dataclass

import pytest

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import Edges, edges
from tests.support.gateway import running_gateway
from tests.support.graphs import drain_all

A, B, C = 1, 2, 3

CHECKS = """
query ($id: ID!) { user(id: $id) {
  viewerIsFollowing isFollowingViewer viewerCanFollow
  viewerFollowEligibility { code message }
  viewerRelation { following followedBy }
} }
"""


@dataclass(frozen=True)
class Case:
    """A situation of A and B, and what A reads about B."""

    edges: Edges
    code: str
    can_follow: bool = False
    a_follows: bool = False
    b_follows: bool = False
    b_is_protected: bool = False
    following_max: int = 1000
    own_limit: int | None = None
    """The limit of follows that a service has set for A."""
    absent: int | None = None


CASES = {
    "no edges": Case({}, "ALLOWED", can_follow=True),
    "B follows A": Case({(B, A): Kind.FOLLOW}, "ALLOWED", can_follow=True, b_follows=True),
    "B whispers to A": Case({(B, A): Kind.WHISPER}, "ALLOWED", can_follow=True, b_follows=True),
    "B requests to follow A": Case({(B, A): Kind.REQUEST}, "ALLOWED", can_follow=True),
    "A mutes B": Case({(A, B): (Kind.NONE, Flags.MUTED)}, "ALLOWED", can_follow=True),
    "B is protected": Case({}, "APPROVAL_NEEDED", can_follow=True, b_is_protected=True),
    "A follows B": Case({(A, B): Kind.FOLLOW}, "ALREADY_FOLLOWING", a_follows=True),
    "A whispers to B": Case({(A, B): Kind.WHISPER}, "ALREADY_FOLLOWING", a_follows=True),
    "B is protected and has accepted A": Case(
        {(A, B): Kind.FOLLOW}, "ALREADY_FOLLOWING", a_follows=True, b_is_protected=True
    ),
    "B is protected and A has requested to follow": Case(
        {(A, B): Kind.REQUEST}, "REQUESTED", b_is_protected=True
    ),
    "A has requested to follow B, who is no longer protected": Case(
        {(A, B): Kind.REQUEST}, "ALLOWED", can_follow=True
    ),
    "A blocks B": Case({(A, B): Kind.BLOCK}, "UNBLOCK_FIRST"),
    "B blocks A": Case({(B, A): Kind.BLOCK}, "NOT_ALLOWED"),
    "A and B block each other": Case({(A, B): Kind.BLOCK, (B, A): Kind.BLOCK}, "UNBLOCK_FIRST"),
    "B is absent": Case({}, "NOT_ALLOWED", absent=B),
    "A is absent": Case({}, "ACCOUNT_NOT_ACTIVE", absent=A),
    "A has reached the limit with a follow": Case(
        {(A, C): Kind.FOLLOW}, "LIMIT_REACHED", following_max=1
    ),
    "A has reached the limit with a whisper and a request": Case(
        {(A, C): Kind.WHISPER, (A, 4): Kind.REQUEST}, "LIMIT_REACHED", following_max=2
    ),
    "A has a higher limit of their own": Case(
        {(A, C): Kind.FOLLOW}, "ALLOWED", can_follow=True, following_max=1, own_limit=2
    ),
    "A has reached a lower limit of their own": Case(
        {(A, C): Kind.FOLLOW}, "LIMIT_REACHED", own_limit=1
    ),
    "B is protected and A has reached the limit": Case(
        {(A, C): Kind.FOLLOW}, "LIMIT_REACHED", b_is_protected=True, following_max=1
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_the_viewer_reads_whether_and_why_they_may_follow(
    name: str, stores: Stores, storage_settings: StorageSettings
) -> None:
    case = CASES[name]
    await edges(stores, case.edges)
    await drain_all(stores)
    if case.b_is_protected:
        await stores.writes.accounts.set_privacy(UserId(B), PrivacyChange(protected=True))
    if case.own_limit is not None:
        await stores.writes.accounts.set_following_limit(UserId(A), case.own_limit)
    if case.absent is not None:
        await stores.servers.postgres.fetch(
            "INSERT INTO account (user_id, state) VALUES ($1, 1)", case.absent
        )
    policy = Policy(following_max=case.following_max)
    async with running_gateway(storage_settings, policy) as gateway:
        for caller in (gateway, gateway.as_service):
            user = (await caller.data(CHECKS, A, id=str(B)))["user"]
            assert user["viewerFollowEligibility"].pop("message")
            assert user == {
                "viewerIsFollowing": case.a_follows,
                "isFollowingViewer": case.b_follows,
                "viewerCanFollow": case.can_follow,
                "viewerFollowEligibility": {"code": case.code},
                "viewerRelation": {"following": case.a_follows, "followedBy": case.b_follows},
            }
        for caller in (gateway, gateway.as_service):
            user = (await caller.data(CHECKS, id=str(B)))["user"]
            assert user["viewerFollowEligibility"]["code"] == "SIGN_IN"
            assert user["viewerRelation"] is None
            names = ("viewerIsFollowing", "isFollowingViewer", "viewerCanFollow")
            assert not any(user[field] for field in names)
        own = (await gateway.data(CHECKS, A, id=str(A)))["user"]
        assert own["viewerFollowEligibility"]["code"] == "SELF"
