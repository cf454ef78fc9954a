"""What viewers see of users A and B. The viewers are A, B, C, an anonymous viewer and a service.

All requests use HTTP. A row of the tables below is what one viewer sees of one user:

* `user`: the user whose data the viewer reads
* `viewer`: A, B, `third` (C), `friend` (D), `nobody` (an anonymous viewer), or `service`
* `following`, `followers`, `friends`: the users in the list, and the user's count if it differs,
  because counts are not corrected for the viewer's blocks; or why the viewer may not open the list:
  `hidden` (by its owner), `locked` (the account is protected), `blocked` (by the viewer)
* `known`: `followersYouKnow`
* `other`: the relation of A to B, of B to A, or of D to B, by `relationWith` and `relationMask`
* `own`: the relation of the viewer to the user, by `viewerRelation`
* `button`: `viewerFollowEligibility`

`other` and `own` use the words of WORDS: `followed` means followed by the other user, `asks` means
that a request is sent, and `asked` that one is received.

In every situation D (4) is a friend of A and of B, and C (3) follows A and D.
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
from tests.support.relation_fields import RELATION, true_fields_of
from tests.support.relationships import change, change_settings

A, B, C, D = 1, 2, 3, 4
NAMES = {"1": "A", "2": "B", "3": "C", "4": "D"}
OTHER_USER = {"A": B, "B": A, "D": B}

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
VIEWERS_OF_EVERY_TABLE = {"A", "B", "third", "nobody", "service"}

ACCESS_WORDS = {"HIDDEN_BY_OWNER": "hidden", "PROTECTED": "locked", "HIDDEN_BY_BLOCK": "blocked"}
WORDS = {
    "following": "follows",
    "whispering": "whispers",
    "followedBy": "followed",
    "requested": "asks",
    "requestedBy": "asked",
    "blocking": "blocks",
}
CAN_FOLLOW = {"ALLOWED", "APPROVAL_NEEDED"}


class Mutation(NamedTuple):
    """One mutation."""

    actor: int
    mutation: str
    target: int
    given: dict[str, Any]


class SettingsChange(NamedTuple):
    """A change of privacy settings."""

    actor: int
    given: dict[str, Any]


def follows(actor: int, target: int, **given: Any) -> Mutation:
    return Mutation(actor, "followUser", target, given)


COMMON_STEPS = (
    follows(A, D),
    follows(D, A),
    follows(B, D),
    follows(D, B),
    follows(C, D),
    follows(C, A),
)


@dataclass(frozen=True)
class Situation:
    """Changes after those of COMMON_STEPS, and the table of what viewers see afterwards."""

    steps: tuple[Mutation | SettingsChange, ...]
    table: str
    whispers_hidden: bool = False


SITUATIONS = {
    "no edge between A and B": Situation(
        (),
        """
user | viewer  | following | followers | friends | known | other | own     | button
A    | A       | D         | C D       | D       | D     | -     | self    | SELF
A    | B       | D         | C D       | D       | D     | -     | -       | ALLOWED
A    | third   | D         | C D       | D       | D     | -     | follows | ALREADY_FOLLOWING
A    | nobody  | D         | C D       | D       | null  | -     | null    | SIGN_IN
A    | service | D         | C D       | D       | null  | -     | null    | SIGN_IN
B    | A       | D         | D         | D       | D     | -     | -       | ALLOWED
B    | B       | D         | D         | D       | D     | -     | self    | SELF
B    | third   | D         | D         | D       | D     | -     | -       | ALLOWED
B    | nobody  | D         | D         | D       | null  | -     | null    | SIGN_IN
B    | service | D         | D         | D       | null  | -     | null    | SIGN_IN
""",
    ),
    "A blocks B": Situation(
        (Mutation(A, "blockUser", B, {}),),
        """
user | viewer  | following | followers | friends | known   | other   | own     | button
A    | A       | D         | C D       | D       | D       | blocks  | self    | SELF
A    | B       | hidden    | hidden    | hidden  | hidden  | -       | -       | NOT_ALLOWED
A    | third   | D         | C D       | D       | D       | -       | follows | ALREADY_FOLLOWING
A    | nobody  | D         | C D       | D       | null    | -       | null    | SIGN_IN
A    | service | D         | C D       | D       | null    | blocks  | null    | SIGN_IN
B    | A       | blocked   | blocked   | blocked | blocked | -       | blocks  | UNBLOCK_FIRST
B    | B       | D         | D         | D       | D       | -       | self    | SELF
B    | third   | D         | D         | D       | D       | -       | -       | ALLOWED
B    | nobody  | D         | D         | D       | null    | -       | null    | SIGN_IN
B    | service | D         | D         | D       | null    | -       | null    | SIGN_IN
D    | A       | A of 2    | A C of 3  | A of 2  | -       | -       | friends | ALREADY_FOLLOWING
D    | B       | B of 2    | B C of 3  | B of 2  | -       | friends | friends | ALREADY_FOLLOWING
D    | third   | A B       | A B C     | A B     | A       | friends | follows | ALREADY_FOLLOWING
D    | nobody  | A B       | A B C     | A B     | null    | friends | null    | SIGN_IN
D    | service | A B       | A B C     | A B     | null    | friends | null    | SIGN_IN
""",
    ),
    "B is protected, and A has sent a request": Situation(
        (SettingsChange(B, {"protected": True}), follows(A, B)),
        """
user | viewer  | following | followers | friends | known  | other | own     | button
A    | A       | D         | C D       | D       | D      | asks  | self    | SELF
A    | B       | D         | C D       | D       | D      | asks  | asked   | ALLOWED
A    | third   | D         | C D       | D       | D      | -     | follows | ALREADY_FOLLOWING
A    | nobody  | D         | C D       | D       | null   | -     | null    | SIGN_IN
A    | service | D         | C D       | D       | null   | asks  | null    | SIGN_IN
B    | A       | locked    | locked    | locked  | locked | asked | asks    | REQUESTED
B    | B       | D         | D         | D       | D      | asked | self    | SELF
B    | third   | locked    | locked    | locked  | locked | -     | -       | APPROVAL_NEEDED
B    | nobody  | locked    | locked    | locked  | null   | -     | null    | SIGN_IN
B    | service | D         | D         | D       | null   | asked | null    | SIGN_IN
""",
    ),
    "B is protected, and has accepted the request of A": Situation(
        (
            SettingsChange(B, {"protected": True}),
            follows(A, B),
            Mutation(B, "acceptFollowRequest", A, {}),
        ),
        """
user | viewer  | following | followers | friends | known  | other    | own      | button
A    | A       | B D       | C D       | D       | D      | follows  | self     | SELF
A    | B       | B D       | C D       | D       | D      | follows  | followed | ALLOWED
A    | third   | B D       | C D       | D       | D      | follows  | follows  | ALREADY_FOLLOWING
A    | nobody  | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
A    | service | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
B    | A       | D         | A D       | D       | D      | followed | follows  | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D      | followed | self     | SELF
B    | third   | locked    | locked    | locked  | locked | followed | -        | APPROVAL_NEEDED
B    | nobody  | locked    | locked    | locked  | null   | followed | null     | SIGN_IN
B    | service | D         | A D       | D       | null   | followed | null     | SIGN_IN
""",
    ),
    "A whispers to B": Situation(
        (follows(A, B, visibility="WHISPER"),),
        """
user | viewer  | following | followers | friends | known | other    | own      | button
A    | A       | B D       | C D       | D       | D     | whispers | self     | SELF
A    | B       | D         | C D       | D       | D     | whispers | followed | ALLOWED
A    | third   | D         | C D       | D       | D     | -        | follows  | ALREADY_FOLLOWING
A    | nobody  | D         | C D       | D       | null  | -        | null     | SIGN_IN
A    | service | B D       | C D       | D       | null  | whispers | null     | SIGN_IN
B    | A       | D         | D         | D       | D     | followed | whispers | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D     | followed | self     | SELF
B    | third   | D         | D         | D       | D     | -        | -        | ALLOWED
B    | nobody  | D         | D         | D       | null  | -        | null     | SIGN_IN
B    | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A whispers to B, and whispers are hidden from their targets": Situation(
        (follows(A, B, visibility="WHISPER"),),
        """
user | viewer  | following | followers | friends | known | other    | own      | button
A    | A       | B D       | C D       | D       | D     | whispers | self     | SELF
A    | B       | D         | C D       | D       | D     | -        | -        | ALLOWED
A    | third   | D         | C D       | D       | D     | -        | follows  | ALREADY_FOLLOWING
A    | nobody  | D         | C D       | D       | null  | -        | null     | SIGN_IN
A    | service | B D       | C D       | D       | null  | whispers | null     | SIGN_IN
B    | A       | D         | D         | D       | D     | followed | whispers | ALREADY_FOLLOWING
B    | B       | D         | D         | D       | D     | -        | self     | SELF
B    | third   | D         | D         | D       | D     | -        | -        | ALLOWED
B    | nobody  | D         | D         | D       | null  | -        | null     | SIGN_IN
B    | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
        whispers_hidden=True,
    ),
    "A follows B, and only followers may open A's following list": Situation(
        (follows(A, B), SettingsChange(A, {"followingAudience": "FOLLOWERS"})),
        """
user | viewer  | following | followers | friends | known | other    | own      | button
A    | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A    | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A    | third   | B D       | C D       | D       | D     | follows  | follows  | ALREADY_FOLLOWING
A    | friend  | B D       | C D       | D       | -     | follows  | friends  | ALREADY_FOLLOWING
A    | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A    | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B    | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D     | followed | self     | SELF
B    | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B    | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B    | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A follows B, and only friends may open A's following list": Situation(
        (follows(A, B), SettingsChange(A, {"followingAudience": "FRIENDS"})),
        """
user | viewer  | following | followers | friends | known | other    | own      | button
A    | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A    | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A    | third   | hidden    | C D       | hidden  | D     | follows  | follows  | ALREADY_FOLLOWING
A    | friend  | B D       | C D       | D       | -     | follows  | friends  | ALREADY_FOLLOWING
A    | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A    | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B    | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D     | followed | self     | SELF
B    | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B    | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B    | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A follows B, and nobody else may open A's following list": Situation(
        (follows(A, B), SettingsChange(A, {"followingAudience": "ONLY_ME"})),
        """
user | viewer  | following | followers | friends | known | other    | own      | button
A    | A       | B D       | C D       | D       | D     | follows  | self     | SELF
A    | B       | hidden    | C D       | hidden  | D     | follows  | followed | ALLOWED
A    | third   | hidden    | C D       | hidden  | D     | follows  | follows  | ALREADY_FOLLOWING
A    | friend  | hidden    | C D       | hidden  | -     | follows  | friends  | ALREADY_FOLLOWING
A    | nobody  | hidden    | C D       | hidden  | null  | follows  | null     | SIGN_IN
A    | service | B D       | C D       | D       | null  | follows  | null     | SIGN_IN
B    | A       | D         | A D       | D       | D     | followed | follows  | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D     | followed | self     | SELF
B    | third   | D         | A D       | D       | A D   | followed | -        | ALLOWED
B    | nobody  | D         | A D       | D       | null  | followed | null     | SIGN_IN
B    | service | D         | A D       | D       | null  | followed | null     | SIGN_IN
""",
    ),
    "A follows B, and nobody else may open the two lists with this follow": Situation(
        (
            follows(A, B),
            SettingsChange(A, {"followingAudience": "ONLY_ME"}),
            SettingsChange(B, {"followersAudience": "ONLY_ME"}),
        ),
        """
user | viewer  | following | followers | friends | known  | other    | own      | button
A    | A       | B D       | C D       | D       | D      | follows  | self     | SELF
A    | B       | hidden    | C D       | hidden  | D      | follows  | followed | ALLOWED
A    | third   | hidden    | C D       | hidden  | D      | -        | follows  | ALREADY_FOLLOWING
A    | nobody  | hidden    | C D       | hidden  | null   | -        | null     | SIGN_IN
A    | service | B D       | C D       | D       | null   | follows  | null     | SIGN_IN
B    | A       | D         | hidden    | hidden  | hidden | followed | follows  | ALREADY_FOLLOWING
B    | B       | D         | A D       | D       | D      | followed | self     | SELF
B    | third   | D         | hidden    | hidden  | hidden | -        | -        | ALLOWED
B    | nobody  | D         | hidden    | hidden  | null   | -        | null     | SIGN_IN
B    | service | D         | A D       | D       | null   | followed | null     | SIGN_IN
""",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
async def test_each_viewer_sees_only_what_they_may_see(
    name: str, stores: Stores, storage_settings: StorageSettings
) -> None:
    situation = SITUATIONS[name]
    policy = Policy(whispers_hidden=situation.whispers_hidden)
    rows = rows_of(situation.table)
    for user_name in ("A", "B"):
        assert {viewer for user, viewer, *_ in rows if user == user_name} >= VIEWERS_OF_EVERY_TABLE
    async with running_gateway(storage_settings, policy) as gateway:
        for step in (*COMMON_STEPS, *situation.steps):
            if isinstance(step, SettingsChange):
                payload = await change_settings(gateway, step.actor, **step.given)
            else:
                payload = await change(
                    gateway, step.actor, step.mutation, step.target, **step.given
                )
            assert payload["changed"]
        await drain_all(stores)
        found = [[user, viewer, *await seen_by(viewer, user, gateway)] for user, viewer, *_ in rows]
    assert found == rows


def rows_of(table: str) -> list[list[str]]:
    _head, *rows = table.strip().splitlines()
    return [[cell.strip() for cell in row.split("|")] for row in rows]


async def seen_by(viewer: str, user_name: str, gateway: Gateway) -> list[str]:
    """What a viewer sees of a user, as the cells of a row after the first two."""
    caller = gateway.as_service if viewer == "service" else gateway
    (user_id,) = (user_id for user_id, name in NAMES.items() if name == user_name)
    variables = {"id": user_id, "other": str(OTHER_USER[user_name])}
    user = (await caller.data(PAGE, VIEWERS[viewer], **variables))["user"]
    (mask,) = unpack("<H", b64decode(user["relationMask"]))
    (other,) = user["relationWith"]
    relation, button = user["viewerRelation"], user["viewerFollowEligibility"]["code"]
    is_self = relation is not None and relation["state"] == "SELF"
    viewer_relations = set[str]() if relation is None or is_self else true_fields_of(relation)
    assert user["viewerIsFollowing"] == ("following" in viewer_relations)
    assert user["isFollowingViewer"] == ("followedBy" in viewer_relations)
    assert user["viewerCanFollow"] == (button in CAN_FOLLOW)
    return [
        list_cell(user["following"], user["followingCount"]),
        list_cell(user["followers"], user["followerCount"]),
        list_cell(user["friends"], user["friendCount"]),
        known_cell(user),
        relation_cell(true_fields_of(other, mask)),
        "self" if is_self else relation_cell(viewer_relations) if relation else "null",
        button,
    ]


def list_cell(connection: Any, count: int | None) -> str:
    """The cell for a list: its users, and its count if it differs; or why it cannot be opened."""
    names = sorted(NAMES[node["id"]] for node in connection["nodes"])
    assert connection["totalCount"] == len(names)
    if connection["access"] != "VISIBLE":
        assert (names, count) == ([], None)
        return ACCESS_WORDS[connection["access"]]
    listed = " ".join(names) or "-"
    return listed if count == len(names) else f"{listed} of {count}"


def known_cell(user: Any) -> str:
    """The cell for `followersYouKnow`, which has the same access as the followers."""
    connection = user["followersYouKnow"]
    if connection is None:
        return "null"
    assert connection["access"] == user["followers"]["access"]
    is_open = connection["access"] == "VISIBLE"
    return list_cell(connection, len(connection["nodes"]) if is_open else None)


def relation_cell(fields: set[str]) -> str:
    """The cell for a relation: `friends` for two follows, and `whispers` without `follows`."""
    if fields == {"following", "followedBy"}:
        return "friends"
    shown = fields - {"following"} if "whispering" in fields else fields
    return " ".join(word for name, word in WORDS.items() if name in shown) or "-"
