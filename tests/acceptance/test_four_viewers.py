"""Four viewers (A, B, a third, an anonymous one) and a service read the pages of A and B.

Everything is done and asked over HTTP. A row is a user's page as a viewer finds it:

* `following`, `followers`, `friends`: the list with its total, and the user's count if it differs,
  because it is not corrected for the viewer's blocks; or why the list is not to be opened: hidden
  (by its owner), locked (protected), blocked (by the viewer)
* `known`: `followersYouKnow`
* `other`: the relation of A to B, or of B to A, by `relationWith` and `relationMask` both
* `own`: the relation of the viewer to the user, by `viewerRelation`
* `button`: `viewerFollowEligibility`

In every situation D (4) is a friend of both, and the third (C, 3) follows A and D.
"""

from base64 import b64decode
from dataclasses import dataclass
from struct import unpack
from typing import Any, NamedTuple

import pytest

from resolvers.policy import Policy
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.relation_fields import RELATION, said_of
from tests.support.relationships import change, say

A, B, C, D = 1, 2, 3, 4
NAMES = {"1": "A", "2": "B", "3": "C", "4": "D"}
OTHER = {"A": B, "B": A, "D": B}

PAGE = f"""
query ($id: ID!, $other: ID!) {{ user(id: $id) {{
  followingCount followerCount friendCount
  following {{ access totalCount nodes {{ id }} }}
  followers {{ access totalCount nodes {{ id }} }}
  friends {{ access totalCount nodes {{ id }} }}
  followersYouKnow {{ access totalCount nodes {{ id }} }}
  relationWith(ids: [$other]) {{ ...relation }}
  relationMask(ids: [$other])
  viewerRelation {{ ...relation }}
  viewerIsFollowing isFollowingViewer viewerCanFollow
  viewerFollowEligibility {{ code }}
}} }}
{RELATION}
"""

VIEWERS = {"A": A, "B": B, "third": C, "nobody": None, "friend": D, "service": None}
EVERYBODY = {"A", "B", "third", "nobody", "service"}

CLOSED = {"HIDDEN_BY_OWNER": "hidden", "PROTECTED": "locked", "HIDDEN_BY_BLOCK": "blocked"}
WORDS = {
    "following": "follows",
    "whispering": "whispers",
    "followedBy": "followed",
    "requested": "asks",
    "requestedBy": "asked",
    "blocking": "blocks",
}
CAN_FOLLOW = {"ALLOWED", "APPROVAL_NEEDED"}


class Does(NamedTuple):
    """One mutation."""

    actor: int
    mutation: str
    target: int
    said: dict[str, Any]


class Says(NamedTuple):
    """A change of settings."""

    actor: int
    said: dict[str, Any]


def follows(actor: int, target: int, **said: Any) -> Does:
    return Does(actor, "followUser", target, said)


COMMON = (follows(A, D), follows(D, A), follows(B, D), follows(D, B), follows(C, D), follows(C, A))


@dataclass(frozen=True)
class Situation:
    """Changes after those that all situations share, and every page afterwards."""

    steps: tuple[Does | Says, ...]
    pages: str
    whispers_hidden: bool = False


SITUATIONS = {
    "nothing between A and B": Situation(
        (),
        """
of | viewer  | following | followers | friends | known | other | own     | button
A  | A       | D         | C D       | D       | D     | -     | self    | SELF
A  | B       | D         | C D       | D       | D     | -     | -       | ALLOWED
A  | third   | D         | C D       | D       | D     | -     | follows | ALREADY_FOLLOWING
A  | nobody  | D         | C D       | D       | null  | -     | null    | SIGN_IN
A  | service | D         | C D       | D       | null  | -     | null    | SIGN_IN
B  | A       | D         | D         | D       | D     | -     | -       | ALLOWED
B  | B       | D         | D         | D       | D     | -     | self    | SELF
B  | third   | D         | D         | D       | D     | -     | -       | ALLOWED
B  | nobody  | D         | D         | D       | null  | -     | null    | SIGN_IN
B  | service | D         | D         | D       | null  | -     | null    | SIGN_IN
""",
    ),
    "A blocks B": Situation(
        (Does(A, "blockUser", B, {}),),
        """
of | viewer  | following | followers | friends | known   | other   | own     | button
A  | A       | D         | C D       | D       | D       | blocks  | self    | SELF
A  | B       | hidden    | hidden    | hidden  | hidden  | -       | -       | NOT_ALLOWED
A  | third   | D         | C D       | D       | D       | -       | follows | ALREADY_FOLLOWING
A  | nobody  | D         | C D       | D       | null    | -       | null    | SIGN_IN
A  | service | D         | C D       | D       | null    | blocks  | null    | SIGN_IN
B  | A       | blocked   | blocked   | blocked | blocked | -       | blocks  | UNBLOCK_FIRST
B  | B       | D         | D         | D       | D       | -       | self    | SELF
B  | third   | D         | D         | D       | D       | -       | -       | ALLOWED
B  | nobody  | D         | D         | D       | null    | -       | null    | SIGN_IN
B  | service | D         | D         | D       | null    | -       | null    | SIGN_IN
D  | A       | A of 2    | A C of 3  | A of 2  | -       | -       | friends | ALREADY_FOLLOWING
D  | B       | B of 2    | B C of 3  | B of 2  | -       | friends | friends | ALREADY_FOLLOWING
D  | third   | A B       | A B C     | A B     | A       | friends | follows | ALREADY_FOLLOWING
D  | nobody  | A B       | A B C     | A B     | null    | friends | null    | SIGN_IN
D  | service | A B       | A B C     | A B     | null    | friends | null    | SIGN_IN
""",
    ),
    "B is protected, and A has asked": Situation(
        (Says(B, {"protected": True}), follows(A, B)),
        """
of | viewer  | following | followers | friends | known  | other | own     | button
A  | A       | D         | C D       | D       | D      | asks  | self    | SELF
A  | B       | D         | C D       | D       | D      | asks  | asked   | ALLOWED
A  | third   | D         | C D       | D       | D      | -     | follows | ALREADY_FOLLOWING
A  | nobody  | D         | C D       | D       | null   | -     | null    | SIGN_IN
A  | service | D         | C D       | D       | null   | asks  | null    | SIGN_IN
B  | A       | locked    | locked    | locked  | locked | asked | asks    | REQUESTED
B  | B       | D         | D         | D       | D      | asked | self    | SELF
B  | third   | locked    | locked    | locked  | locked | -     | -       | APPROVAL_NEEDED
B  | nobody  | locked    | locked    | locked  | null   | -     | null    | SIGN_IN
B  | service | D         | D         | D       | null   | asked | null    | SIGN_IN
""",
    ),
    "B is protected, and has let A in": Situation(
        (Says(B, {"protected": True}), follows(A, B), Does(B, "acceptFollowRequest", A, {})),
        """
of | viewer  | following | followers | friends | known  | other    | own      | button
A  | A       | B D       | C D       | D       | D      | follows  | self     | SELF
A  | B       | B D       | C D       | D       | D      | follows  | followed | ALLOWED
A  | third   | B D       | C D       | D       | D      | follows  | follows  | ALREADY_FOLLOWING
A  | nobody  | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
A  | service | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
B  | A       | D         | A D       | D       | D      | followed | follows  | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D      | followed | self     | SELF
B  | third   | locked    | locked    | locked  | locked | followed | -        | APPROVAL_NEEDED
B  | nobody  | locked    | locked    | locked  | null   | followed | null     | SIGN_IN
B  | service | D         | A D       | D       | null   | followed | null     | SIGN_IN
""",
    ),
    "A whispers to B": Situation(
        (follows(A, B, visibility="WHISPER"),),
        """
of | viewer  | following | followers | friends | known | other    | own      | button
A  | A       | B D       | C D       | D       | D     | whispers | self     | SELF
A  | B       | D         | C D       | D       | D     | whispers | followed | ALLOWED
A  | third   | D         | C D       | D       | D     | -        | follows  | ALREADY_FOLLOWING
A  | nobody  | D         | C D       | D       | null  | -        | null     | SIGN_IN
A  | service | B D       | C D       | D       | null  | whispers | null     | SIGN_IN
B  | A       | D         | D         | D       | D     | followed | whispers | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D     | followed | self     | SELF
B  | third   | D         | D         | D       | D     | -        | -        | ALLOWED
B  | nobody  | D         | D         | D       | null  | -        | null     | SIGN_IN
B  | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A whispers to B, who may not know": Situation(
        (follows(A, B, visibility="WHISPER"),),
        """
of | viewer  | following | followers | friends | known | other    | own      | button
A  | A       | B D       | C D       | D       | D     | whispers | self     | SELF
A  | B       | D         | C D       | D       | D     | -        | -        | ALLOWED
A  | third   | D         | C D       | D       | D     | -        | follows  | ALREADY_FOLLOWING
A  | nobody  | D         | C D       | D       | null  | -        | null     | SIGN_IN
A  | service | B D       | C D       | D       | null  | whispers | null     | SIGN_IN
B  | A       | D         | D         | D       | D     | followed | whispers | ALREADY_FOLLOWING
B  | B       | D         | D         | D       | D     | -        | self     | SELF
B  | third   | D         | D         | D       | D     | -        | -        | ALLOWED
B  | nobody  | D         | D         | D       | null  | -        | null     | SIGN_IN
B  | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
        whispers_hidden=True,
    ),
    "A, who follows B, shows followers whom they follow": Situation(
        (follows(A, B), Says(A, {"followingAudience": "FOLLOWERS"})),
        """
of | viewer  | following | followers | friends | known | other    | own      | button
A  | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A  | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A  | third   | B D       | C D       | D       | D     | follows  | follows  | ALREADY_FOLLOWING
A  | friend  | B D       | C D       | D       | -     | follows  | friends  | ALREADY_FOLLOWING
A  | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A  | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B  | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D     | followed | self     | SELF
B  | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B  | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B  | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A, who follows B, shows friends whom they follow": Situation(
        (follows(A, B), Says(A, {"followingAudience": "FRIENDS"})),
        """
of | viewer  | following | followers | friends | known | other    | own      | button
A  | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A  | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A  | third   | hidden    | C D       | hidden  | D     | follows  | follows  | ALREADY_FOLLOWING
A  | friend  | B D       | C D       | D       | -     | follows  | friends  | ALREADY_FOLLOWING
A  | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A  | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B  | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D     | followed | self     | SELF
B  | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B  | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B  | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A, who follows B, shows nobody whom they follow": Situation(
        (follows(A, B), Says(A, {"followingAudience": "ONLY_ME"})),
        """
of | viewer  | following | followers | friends | known | other    | own      | button
A  | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A  | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A  | third   | hidden    | C D       | hidden  | D     | follows  | follows  | ALREADY_FOLLOWING
A  | friend  | hidden    | C D       | hidden  | -     | follows  | friends  | ALREADY_FOLLOWING
A  | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A  | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B  | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D     | followed | self     | SELF
B  | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B  | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B  | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A follows B, and neither list that says so is open": Situation(
        (
            follows(A, B),
            Says(A, {"followingAudience": "ONLY_ME"}),
            Says(B, {"followersAudience": "ONLY_ME"}),
        ),
        """
of | viewer  | following | followers | friends | known  | other    | own      | button
A  | A       | B D       | C D       | D       | D      | follows  | self     | SELF
A  | B       | hidden    | C D       | hidden  | D      | follows  | followed | ALLOWED
A  | third   | hidden    | C D       | hidden  | D      | -        | follows  | ALREADY_FOLLOWING
A  | nobody  | hidden    | C D       | hidden  | null   | -        | null     | SIGN_IN
A  | service | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
B  | A       | D         | hidden    | hidden  | hidden | followed | follows  | ALREADY_FOLLOWING
B  | B       | D         | A D       | D       | D      | followed | self     | SELF
B  | third   | D         | hidden    | hidden  | hidden | -        | -        | ALLOWED
B  | nobody  | D         | hidden    | hidden  | null   | -        | null     | SIGN_IN
B  | service | D         | A D       | D       | null   | followed | null     | SIGN_IN
""",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
async def test_each_viewer_is_answered_what_they_may_know(
    name: str, stores: Stores, storage_settings: StorageSettings
) -> None:
    situation = SITUATIONS[name]
    policy = Policy(whispers_hidden=situation.whispers_hidden)
    rows = rows_of(situation.pages)
    for page in ("A", "B"):
        assert {viewer for of, viewer, *_ in rows if of == page} >= EVERYBODY
    async with running_gateway(storage_settings, policy) as gateway:
        for step in (*COMMON, *situation.steps):
            if isinstance(step, Says):
                payload = await say(gateway, step.actor, **step.said)
            else:
                payload = await change(gateway, step.actor, step.mutation, step.target, **step.said)
            assert payload["changed"]
        await drain_all(stores)
        found = [[of, viewer, *await page_of(gateway, of, viewer)] for of, viewer, *_ in rows]
    assert found == rows


def rows_of(pages: str) -> list[list[str]]:
    _head, *rows = pages.strip().splitlines()
    return [[cell.strip() for cell in row.split("|")] for row in rows]


async def page_of(gateway: Gateway, of: str, viewer: str) -> list[str]:
    """A user's page as a viewer finds it, in the cells of a row."""
    asked = gateway.as_service if viewer == "service" else gateway
    (user_id,) = (user_id for user_id, name in NAMES.items() if name == of)
    variables = {"id": user_id, "other": str(OTHER[of])}
    user = (await asked.data(PAGE, VIEWERS[viewer], **variables))["user"]
    (mark,) = unpack("<H", b64decode(user["relationMask"]))
    (other,) = user["relationWith"]
    relation, button = user["viewerRelation"], user["viewerFollowEligibility"]["code"]
    is_self = relation is not None and relation["state"] == "SELF"
    viewer_relations = set[str]() if relation is None or is_self else said_of(relation)
    assert user["viewerIsFollowing"] == ("following" in viewer_relations)
    assert user["isFollowingViewer"] == ("followedBy" in viewer_relations)
    assert user["viewerCanFollow"] == (button in CAN_FOLLOW)
    return [
        entries(user["following"], user["followingCount"]),
        entries(user["followers"], user["followerCount"]),
        entries(user["friends"], user["friendCount"]),
        known(user),
        words(said_of(other, mark)),
        "self" if is_self else words(viewer_relations) if relation else "null",
        button,
    ]


def entries(connection: Any, count: int | None) -> str:
    """The users in a list, or the reason why it is closed."""
    names = sorted(NAMES[node["id"]] for node in connection["nodes"])
    assert connection["totalCount"] == len(names)
    if connection["access"] != "VISIBLE":
        assert (names, count) == ([], None)
        return CLOSED[connection["access"]]
    listed = " ".join(names) or "-"
    return listed if count == len(names) else f"{listed} of {count}"


def known(user: Any) -> str:
    """`followersYouKnow`, which is visible if the followers are."""
    connection = user["followersYouKnow"]
    if connection is None:
        return "null"
    assert connection["access"] == user["followers"]["access"]
    is_open = connection["access"] == "VISIBLE"
    return entries(connection, len(connection["nodes"]) if is_open else None)


def words(said: set[str]) -> str:
    """A short form of a relation: a whisper is a follow, and follows both ways make friends."""
    if said == {"following", "followedBy"}:
        return "friends"
    shown = said - {"following"} if "whispering" in said else said
    return " ".join(word for name, word in WORDS.items() if name in shown) or "-"
