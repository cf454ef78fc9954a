"""Whether a viewer may follow a user, for all relations and settings of the two."""

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
class Wish:
    """The eligibility that A sees when they think of following B."""

    edges: Edges
    code: str
    can: bool = False
    follows: bool = False
    followed: bool = False
    protected: bool = False
    following_max: int = 1000
    limit: int | None = None
    gone: int | None = None


WISHES = {
    "strangers": Wish({}, "ALLOWED", can=True),
    "a follow back": Wish({(B, A): Kind.FOLLOW}, "ALLOWED", can=True, followed=True),
    "followed by a whisper": Wish({(B, A): Kind.WHISPER}, "ALLOWED", can=True, followed=True),
    "asked by B": Wish({(B, A): Kind.REQUEST}, "ALLOWED", can=True),
    "muted": Wish({(A, B): (Kind.NONE, Flags.MUTED)}, "ALLOWED", can=True),
    "B is protected": Wish({}, "APPROVAL_NEEDED", can=True, protected=True),
    "follows already": Wish({(A, B): Kind.FOLLOW}, "ALREADY_FOLLOWING", follows=True),
    "whispers already": Wish({(A, B): Kind.WHISPER}, "ALREADY_FOLLOWING", follows=True),
    "was let in": Wish({(A, B): Kind.FOLLOW}, "ALREADY_FOLLOWING", follows=True, protected=True),
    "has asked": Wish({(A, B): Kind.REQUEST}, "REQUESTED", protected=True),
    "has asked who is open by now": Wish({(A, B): Kind.REQUEST}, "ALLOWED", can=True),
    "blocks": Wish({(A, B): Kind.BLOCK}, "UNBLOCK_FIRST"),
    "is blocked": Wish({(B, A): Kind.BLOCK}, "NOT_ALLOWED"),
    "both block": Wish({(A, B): Kind.BLOCK, (B, A): Kind.BLOCK}, "UNBLOCK_FIRST"),
    "B is gone": Wish({}, "NOT_ALLOWED", gone=B),
    "A is gone": Wish({}, "ACCOUNT_NOT_ACTIVE", gone=A),
    "follows enough": Wish({(A, C): Kind.FOLLOW}, "LIMIT_REACHED", following_max=1),
    "whispers and asks enough": Wish(
        {(A, C): Kind.WHISPER, (A, 4): Kind.REQUEST}, "LIMIT_REACHED", following_max=2
    ),
    "has no limit that holds them": Wish(
        {(A, C): Kind.FOLLOW}, "ALLOWED", can=True, following_max=1, limit=2
    ),
    "has a limit of their own": Wish({(A, C): Kind.FOLLOW}, "LIMIT_REACHED", limit=1),
    "follows enough, and asks": Wish(
        {(A, C): Kind.FOLLOW}, "LIMIT_REACHED", protected=True, following_max=1
    ),
}


@pytest.mark.parametrize("name", WISHES)
async def test_eligibility_predicts_the_result_of_a_follow(
    name: str, stores: Stores, storage_settings: StorageSettings
) -> None:
    wish = WISHES[name]
    await edges(stores, wish.edges)
    await drain_all(stores)
    if wish.protected:
        await stores.writes.accounts.set_privacy(UserId(B), PrivacyChange(protected=True))
    if wish.limit is not None:
        await stores.writes.accounts.set_following_limit(UserId(A), wish.limit)
    if wish.gone is not None:
        await stores.servers.postgres.fetch(
            "INSERT INTO account (user_id, state) VALUES ($1, 1)", wish.gone
        )
    policy = Policy(following_max=wish.following_max)
    async with running_gateway(storage_settings, policy) as gateway:
        for asked in (gateway, gateway.as_service):
            user = (await asked.data(CHECKS, A, id=str(B)))["user"]
            assert user["viewerFollowEligibility"].pop("message")
            assert user == {
                "viewerIsFollowing": wish.follows,
                "isFollowingViewer": wish.followed,
                "viewerCanFollow": wish.can,
                "viewerFollowEligibility": {"code": wish.code},
                "viewerRelation": {"following": wish.follows, "followedBy": wish.followed},
            }
        for asked in (gateway, gateway.as_service):
            user = (await asked.data(CHECKS, id=str(B)))["user"]
            assert user["viewerFollowEligibility"]["code"] == "SIGN_IN"
            assert user["viewerRelation"] is None
            names = ("viewerIsFollowing", "isFollowingViewer", "viewerCanFollow")
            assert not any(user[field] for field in names)
        own = (await gateway.data(CHECKS, A, id=str(A)))["user"]
        assert own["viewerFollowEligibility"]["code"] == "SELF"
