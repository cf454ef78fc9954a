"""Contradictions within one response: between its lists, totals, counts and relations."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

QUESTION = """
query ($ids: [ID!]!, $signedIn: Boolean!) {
  users(ids: $ids) {
    id followingCount followerCount friendCount
    following(first: 100) { ...following }
    followers(first: 100) { ...followers }
    friends(first: 100) { access totalCount edges { since: friendsSince node { id } } }
    relationWith(ids: $ids) { ...relation }
    viewerRelation { ...relation }
  }
  viewer @include(if: $signedIn) {
    newFollowersCount
    closeFollows(first: 100) { totalCount edges { since: followedAt node { id } } }
    blockedUsers(first: 100) { totalCount edges { since: blockedAt node { id } } }
    mutedUsers(first: 100) { totalCount edges { node { id } } }
    outgoingFollowRequests(first: 100) { totalCount edges { node { to { id } } } }
    incomingFollowRequests(first: 100) { totalCount edges { node { from { id } } } }
  }
}
fragment following on FollowingConnection {
  access totalCount edges { since: followedAt node { id } }
}
fragment followers on FollowerConnection {
  access totalCount edges { since: followedAt isNew node { id } }
}
fragment relation on Relation {
  from { id } to { id } state following followedBy followedAt followedByAt friendsSince
  blocking blockedAt muted requested requestedBy
}
"""

PARTS_QUESTION = """
query ($ids: [ID!]!) {
  users(ids: $ids) {
    id
    followersYouKnow(first: 100) { ...part }
    sinceThen: followers(first: 100, filter: { since: "2001-01-01T00:00:00Z" }) { ...part }
    followed: followers(first: 100, filter: { viewerFollows: true }) { ...part }
    notFollowed: followers(first: 100, filter: { viewerFollows: false }) { ...part }
  }
}
fragment part on FollowerConnection { totalCount nodes { id } }
"""
"""Lists that show only some followers."""

OWN_LISTS = (
    "closeFollows",
    "blockedUsers",
    "mutedUsers",
    "outgoingFollowRequests",
    "incomingFollowRequests",
)

Dates = Mapping[str, str]
"""The dates of the entries of a list, by user."""


def contradictions(answer: Any, viewer: int | None, *, is_service: bool = False) -> Iterator[str]:
    """The contradictions in a response to `QUESTION`. `is_service`: the viewer is a service, whose
    lists show all whispers."""
    # A block counts more than a list that was read before it was written.
    blocks = {
        frozenset((relation["from"]["id"], relation["to"]["id"]))
        for user in answer["users"]
        for relation in filter(None, [*user["relationWith"], user["viewerRelation"]])
        if relation["blocking"]
    }
    for user in answer["users"]:
        shows_whispers = is_service or user["id"] == str(viewer)
        yield from _of_user(user, viewer, blocks, shows_whispers=shows_whispers)
    if own := answer.get("viewer"):
        for name in OWN_LISTS:
            if own[name]["totalCount"] != len(own[name]["edges"]):
                yield f"viewer.{name}: {own[name]['totalCount']}, {len(own[name]['edges'])} edges"
        relations = [
            user["viewerRelation"] for user in answer["users"] if user["id"] != str(viewer)
        ]
        yield from _of_own_lists(own, relations, blocks)
        (user,) = [user for user in answer["users"] if user["id"] == str(viewer)]
        new = sum(edge["isNew"] for edge in user["followers"]["edges"])
        if own["newFollowersCount"] != new:
            yield f"viewer.newFollowersCount is {own['newFollowersCount']}, {new} edges are new"


def contradictions_in_parts(answer: Any) -> Iterator[str]:
    """The contradictions in a response to `PARTS_QUESTION`."""
    for user in answer["users"]:
        for name, part in user.items():
            if name != "id" and part is not None and part["totalCount"] != len(part["nodes"]):
                yield f"{user['id']}.{name}: {part['totalCount']}, {len(part['nodes'])} nodes"


def _of_user(
    user: Any, viewer: int | None, blocks: Set[frozenset[str]], *, shows_whispers: bool
) -> Iterator[str]:
    owner = user["id"]
    lists: dict[str, Dates] = {}
    for name, count in (
        ("following", "followingCount"),
        ("followers", "followerCount"),
        ("friends", "friendCount"),
    ):
        page = user[name]
        if page["access"] != "VISIBLE":
            continue
        lists[name] = {edge["node"]["id"]: edge["since"] for edge in page["edges"]}
        length = len(lists[name])
        if page["totalCount"] != length:
            yield f"{owner}.{name}: {page['totalCount']} in total, {length} edges"
        if user[count] is None or user[count] < length:
            yield f"{owner}.{count} is {user[count]}, {length} edges"
    if len(lists) == 3:
        both = lists["following"].keys() & lists["followers"].keys()
        friends = lists["friends"].keys()
        # Whispers make no friends.
        if not friends <= both or (friends != both and not shows_whispers):
            yield f"{owner}.friends are {set(lists['friends'])}, in both lists are {both}"
    relations = [*user["relationWith"], *filter(None, [_reversed(user["viewerRelation"])])]
    for relation in relations:
        if {owner, relation["to"]["id"]} not in blocks:
            yield from _of_relation(owner, lists, relation, viewer)


def _of_own_lists(
    lists: Any, relations: Sequence[Any], blocks: Set[frozenset[str]]
) -> Iterator[str]:
    """The contradictions between the viewer's own lists and relations."""
    for name, field, end in (
        ("mutedUsers", "muted", None),
        ("outgoingFollowRequests", "requested", "to"),
        ("incomingFollowRequests", "requestedBy", "from"),
    ):
        nodes = [edge["node"] for edge in lists[name]["edges"]]
        users = {(node[end] if end else node)["id"] for node in nodes}
        for relation in relations:
            other = relation["to"]["id"]
            if {relation["from"]["id"], other} in blocks:
                continue
            if (other in users) != relation[field]:
                yield f"viewer.{name} has {users}, viewerRelation to {other} {relation[field]}"


def _reversed(relation: Any) -> Any:
    """The viewer's relation from the user's side."""
    if relation is None:
        return None
    return {
        "field": "viewerRelation",
        "from": relation["to"],
        "to": relation["from"],
        "state": relation["state"],
        "friendsSince": relation["friendsSince"],
        "following": relation["followedBy"],
        "followedBy": relation["following"],
        "followedAt": relation["followedByAt"],
        "followedByAt": relation["followedAt"],
    }


def _of_relation(
    owner: str, lists: Mapping[str, Dates], relation: Any, viewer: int | None
) -> Iterator[str]:
    other = relation["to"]["id"]
    if other == owner:
        return
    is_friend = relation["state"] == "FRIENDS"
    # The viewer sees whispers between the two in relations, and in no list of the other user.
    may_be_whisper = other == str(viewer) and not is_friend
    says = relation.get("field", "relationWith")
    for name, date in (("following", "followedAt"), ("followers", "followedByAt")):
        listed = lists.get(name)
        if listed is None or listed.get(other) == relation[date]:
            continue
        if other in listed or not may_be_whisper:
            yield f"{owner}.{name} has {other} since {listed.get(other)}, {says} {relation[date]}"
    friends = lists.get("friends")
    if friends is not None and friends.get(other) != relation["friendsSince"]:
        since = relation["friendsSince"]
        yield f"{owner}.friends has {other} since {friends.get(other)}, {says} {since}"
    if is_friend != (relation["friendsSince"] is not None):
        yield f"{owner}, {other}: {relation['state']} since {relation['friendsSince']}"
