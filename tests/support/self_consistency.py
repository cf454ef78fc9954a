"""Contradictions within one response: between its lists, totals, counts and relations."""

from collections.abc import Iterator, Mapping
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
  access totalCount edges { since: followedAt node { id } }
}
fragment relation on Relation {
  from { id } to { id } following followedBy followedAt followedByAt friendsSince
  blocking blockedAt
}
"""

Dates = Mapping[str, str]
"""The dates of the entries of a list, by user."""


def contradictions(answer: Any, viewer: int | None) -> Iterator[str]:
    """The contradictions in a response to `QUESTION`."""
    for user in answer["users"]:
        yield from _of_user(user, viewer)
    for name, page in (answer.get("viewer") or {}).items():
        if page["totalCount"] != len(page["edges"]):
            yield f"viewer.{name}: {page['totalCount']} in total, {len(page['edges'])} edges"


def _of_user(user: Any, viewer: int | None) -> Iterator[str]:
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
        if lists["friends"].keys() != both:
            yield f"{owner}.friends are {set(lists['friends'])}, in both lists are {both}"
    relations = [*user["relationWith"], *filter(None, [_reversed(user["viewerRelation"])])]
    for relation in relations:
        yield from _of_relation(owner, lists, relation)


def _reversed(relation: Any) -> Any:
    """The viewer's relation from the user's side."""
    if relation is None:
        return None
    return {
        "field": "viewerRelation",
        "from": relation["to"],
        "to": relation["from"],
        "following": relation["followedBy"],
        "followedBy": relation["following"],
        "followedAt": relation["followedByAt"],
        "followedByAt": relation["followedAt"],
    }


def _of_relation(owner: str, lists: Mapping[str, Dates], relation: Any) -> Iterator[str]:
    other = relation["to"]["id"]
    if other == owner:
        return
    for name, date in (("following", "followedAt"), ("followers", "followedByAt")):
        listed = lists.get(name)
        if listed is not None and listed.get(other) != relation[date]:
            says = f"{relation.get('field', 'relationWith')} says {relation[date]}"
            yield f"{owner}.{name} has {other} since {listed.get(other)}, {says}"
