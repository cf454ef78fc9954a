"""The graph that the clients read: user 1, who asks, has several entries in each list."""

from collections.abc import Collection, Mapping

from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
from storage.stores import Stores
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import DEADLINE_S, LiveGateway
from tests.support.relationships import protect

VIEWER = 1
OWNER = 2
"""The owner of the lists that are read."""

FOLLOWED = range(11, 18)
FOLLOWERS = range(14, 21)
SUGGESTED = range(71, 76)
MUTED = range(31, 36)
BLOCKED = range(41, 46)
ASKING = range(51, 56)
ASKED = range(61, 66)

FRIENDS = set(FOLLOWED) & set(FOLLOWERS)
NOT_FOLLOWED_BACK = set(FOLLOWERS) - set(FOLLOWED)

EVERY_LIST: Mapping[str, Collection[int]] = {
    "following": FOLLOWED,
    "followers": FOLLOWERS,
    "friends": FRIENDS,
    "followersYouKnow": FRIENDS,
    "commonFollowing": FOLLOWED,
    "closeFollows": FOLLOWED,
    "mutedUsers": MUTED,
    "blockedUsers": BLOCKED,
    "incomingFollowRequests": ASKING,
    "outgoingFollowRequests": ASKED,
    # User 2 is followed by users 18 to 20 as user 1 is, and by those whom user 1 follows.
    "suggestions": {OWNER, *NOT_FOLLOWED_BACK, *SUGGESTED},
}
"""The users in each list: of user 2 as user 1 reads it, or of the viewer alone."""

_CHANGE = """
mutation ($input: ChangeRelationshipsInput!) {
  changeRelationships(input: $input) { changes { outcome } userErrors { message } }
}
"""


async def fill(live: LiveGateway, stores: Stores) -> None:
    """Users 1 and 2 follow the same users and have the same followers; the rest is user 1's."""
    for user in (VIEWER, OWNER):
        await follows(stores, *((user, other) for other in FOLLOWED))
        await follows(stores, *((other, user) for other in FOLLOWERS))
    for user in SUGGESTED:
        await follows(stores, *((known, user) for known in FOLLOWED))
    await protect(stores, VIEWER, *ASKED)
    for user in ASKING:
        await _change(live, user, "FOLLOW", [VIEWER])
    await _change(live, VIEWER, "FOLLOW", ASKED)
    await _change(live, VIEWER, "MUTE", MUTED)
    await _change(live, VIEWER, "BLOCK", BLOCKED)
    await _change(live, VIEWER, "UPDATE_FOLLOW", FOLLOWED, closeFollow=True)
    await drain_all(stores)


async def _change(
    live: LiveGateway, viewer: int, action: str, users: range | list[int], **how: bool
) -> None:
    changes = [{"action": action, "userId": str(user), **how} for user in users]
    body = {"query": _CHANGE, "variables": {"input": {"changes": changes}}}
    headers = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, viewer)}"}
    async with http_client(timeout=DEADLINE_S) as http:
        answer = (await http.post(live.http, json=body, headers=headers)).json()
    payload = answer["data"]["changeRelationships"]
    assert not payload["userErrors"]
    assert len(payload["changes"]) == len(changes)
