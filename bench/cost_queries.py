"""The operations whose costs are compared with the CPU time that they take."""

# ruff: noqa: E501 - one operation in each line

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from random import Random
from typing import Any

from bench.population import Population

Draw = Callable[["People", Random], Mapping[str, Any]]

PAGE = "totalCount edges { cursor followedAt node { id } } pageInfo { hasNextPage endCursor }"
FULL = "to { id } state following followedBy followedAt followedByAt friendsSince"
PERSON = "id followerCount followingCount viewerRelation { state } viewerCanFollow"
INTROSPECTION = """
query Name { __schema { types { kind name description fields(includeDeprecated: true) { name description
  args { name type { kind name ofType { kind name } } }
  type { kind name ofType { kind name ofType { kind name } } } } } } }
"""


@dataclass(frozen=True, slots=True)
class People:
    """The users that the operations are about."""

    population: Population
    popular: list[int]
    """Users with the longest lists, without whales."""
    viewers: list[int]
    owners: list[int]
    """Viewers with entries in each of their own lists: with blocks, reading counts costs more."""

    def ordinary(self, count: int, chance: Random) -> list[str]:
        return [str(user) for user in chance.sample(self.population.ordinary, count)]

    def one_popular(self, chance: Random) -> str:
        return str(chance.choice(self.popular))

    def others(self, user: int, count: int, chance: Random) -> list[str]:
        found = self.population.others(user, min(count, 900), chance)
        return [*found, *map(str, range(1, 1 + count - len(found)))]


class Sender(Enum):
    """The caller that sends an operation."""

    VIEWER = auto()
    """A user without blocks."""
    USER = auto()
    """The user whom the operation is about."""
    OWNER = auto()
    """A user with entries in their own lists."""
    SERVICE = auto()
    NOBODY = auto()


@dataclass(frozen=True, slots=True)
class CostQuery:
    """One operation, and how its variables are drawn."""

    name: str
    document: str
    draw: Draw = lambda people, chance: {}
    sender: Sender = Sender.VIEWER
    is_cached: bool = True
    """Whether all requests send the same document. If not, each has an operation name of its own.
    """


def _user(people: People, chance: Random) -> Mapping[str, Any]:
    return {"id": people.ordinary(1, chance)[0]}


def _popular(people: People, chance: Random) -> Mapping[str, Any]:
    return {"id": people.one_popular(chance)}


def _whale(people: People, chance: Random) -> Mapping[str, Any]:
    return {"id": str(chance.choice(people.population.whales))}


def _deep(people: People, chance: Random) -> Mapping[str, Any]:
    whale, after = chance.choice(people.population.deep)
    return {"id": str(whale), "after": after}


def _users(count: int) -> Draw:
    return lambda people, chance: {"ids": people.ordinary(count, chance)}


def _several_popular(count: int) -> Draw:
    return lambda people, chance: {"ids": list(map(str, chance.sample(people.popular, count)))}


def _checks(count: int) -> Draw:
    def draw(people: People, chance: Random) -> Mapping[str, Any]:
        user = chance.choice(people.population.ordinary)
        return {"id": str(user), "others": people.others(user, count, chance)}

    return draw


def _many_checks(users: int, count: int) -> Draw:
    def draw(people: People, chance: Random) -> Mapping[str, Any]:
        return {"ids": people.ordinary(users, chance), "others": people.ordinary(count, chance)}

    return draw


def _relations(count: int) -> Draw:
    def draw(people: People, chance: Random) -> Mapping[str, Any]:
        pairs = zip(people.ordinary(count, chance), people.ordinary(count, chance), strict=True)
        return {"ids": [f"relation:{one}:{other}" for one, other in pairs]}

    return draw


def _pairs(people: People, chance: Random) -> Mapping[str, Any]:
    pairs = zip(people.ordinary(500, chance), people.ordinary(500, chance), strict=True)
    return {"pairs": [{"from": one, "to": other} for one, other in pairs]}


def _entities(count: int) -> Draw:
    def draw(people: People, chance: Random) -> Mapping[str, Any]:
        users = chance.choices(people.population.ordinary, k=count)
        return {"all": [{"__typename": "User", "id": str(user)} for user in users]}

    return draw


def _random_user(people: People, chance: Random) -> Mapping[str, Any]:
    return {"id": str(chance.randint(1, people.population.highest_id))}


def _changes(people: People, chance: Random) -> Mapping[str, Any]:
    users = chance.sample(range(1, people.population.highest_id), 20)
    return {"changes": [{"action": "FOLLOW", "userId": str(user)} for user in users]}


def _interactions(people: People, chance: Random) -> Mapping[str, Any]:
    return {
        "all": [
            {"from": one, "to": other, "kind": "LIKED"}
            for one, other in zip(
                people.ordinary(100, chance), people.ordinary(100, chance), strict=True
            )
        ]
    }


def _of_user(name: str, fields: str, draw: Draw = _user) -> CostQuery:
    return CostQuery(name, f"query ($id: ID!) {{ user(id: $id) {{ {fields} }} }}", draw)


def _of_users(name: str, fields: str, draw: Draw) -> CostQuery:
    return CostQuery(name, f"query ($ids: [ID!]!) {{ users(ids: $ids) {{ {fields} }} }}", draw)


def _of_viewer(name: str, fields: str, sender: Sender = Sender.OWNER) -> CostQuery:
    return CostQuery(name, f"{{ viewer {{ {fields} }} }}", sender=sender)


def _with_others(name: str, fields: str, draw: Draw) -> CostQuery:
    return CostQuery(
        name,
        f"query ($id: ID!, $others: [ID!]!) {{ user(id: $id) {{ {fields} }} }}",
        draw,
        Sender.USER,
    )


def _of_service(name: str, document: str, draw: Draw) -> CostQuery:
    return CostQuery(name, document, draw, sender=Sender.SERVICE)


def _mutation(name: str, field: str, fields: str, draw: Draw = _random_user) -> CostQuery:
    document = f"mutation ($id: ID!) {{ {field}(input: {{ userId: $id }}) {{ {fields} }} }}"
    return CostQuery(name, document, draw)


COST_QUERIES = (
    CostQuery("nothing", "{ __typename }", sender=Sender.NOBODY),
    _of_user("one user", "id"),
    _of_users("100 users", "id", _users(100)),
    CostQuery(
        "60 users by aliases", "{ " + " ".join(f'u{n}: user(id: "{n}") {{ id }}' for n in range(1, 61)) + " }"
    ),
    _of_user("counts of 1 user", "followingCount followerCount friendCount"),
    _of_users("counts of 100 users", "id followingCount followerCount friendCount", _users(100)),
    _of_user("profile screen", f"{PERSON} friendCount isFollowingViewer followers(first: 3) {{ nodes {{ id }} }}"),
    _of_user("followers, 20 ids", "followers { nodes { id } }", _popular),
    _of_user("followers, 20 entries", f"followers(first: 20) {{ {PAGE} }}", _popular),
    _of_user("followers, 100 entries", f"followers(first: 100) {{ {PAGE} }}", _popular),
    _of_user("followers, the last 20", f"followers(last: 20) {{ {PAGE} }}", _popular),
    _of_user("followers, 20 persons", f"followers(first: 20) {{ nodes {{ {PERSON} }} }}", _popular),
    _of_user("followers, 100 persons", f"followers(first: 100) {{ nodes {{ {PERSON} }} }}", _popular),
    _of_user("followers of a whale", f"followers(first: 20) {{ {PAGE} }}", _whale),
    CostQuery(
        "1,000th page of a whale",
        f"query ($id: ID!, $after: String!) {{ user(id: $id) {{ followers(first: 20, after: $after) {{ {PAGE} }} }} }}",
        _deep,
    ),
    _of_user("following, 100 entries", f"following(first: 100) {{ {PAGE} }}", _popular),
    _of_user("friends, 20 entries", "friends(first: 20) { totalCount edges { cursor friendsSince node { id } } }", _popular),
    _of_user("followers since a date", 'followers(filter: { since: "2020-01-01T00:00:00Z" }) { nodes { id } }', _popular),
    _of_user("followers whom the viewer follows", "followers(filter: { viewerFollows: true }) { nodes { id } }", _popular),
    _of_user("followersYouKnow", "followersYouKnow { totalCount nodes { id } }", _popular),
    CostQuery(
        "commonFollowing",
        "query ($id: ID!, $with: ID!) { user(id: $id) { commonFollowing(with: $with) { nodes { id } } } }",
        lambda people, chance: {"id": people.one_popular(chance), "with": people.one_popular(chance)},
    ),
    _of_user("a page with its freshness", "followers(first: 20) { nodes { id } freshness { lagMs } }", _popular),
    _of_users("20 pages of 20 followers", "followers(first: 20) { totalCount edges { followedAt node { id } } }", _several_popular(20)),
    _of_users("20 pages of 20 with relations", "id following(first: 20) { edges { node { id viewerRelation { state } } } }", _several_popular(20)),
    _of_users("10 pages of 100 ids", "followers(first: 100) { nodes { id } }", _several_popular(10)),
    _of_users("30 pages of 100 with counts", "followers(first: 100) { nodes { id followerCount } }", _several_popular(30)),
    _of_user("pages of pages", "followers(first: 30) { nodes { followers(first: 30) { nodes { id } } } }", _popular),
    _with_others("1 check", "relationWith(ids: $others) { state }", _checks(1)),
    _with_others("100 checks", "relationWith(ids: $others) { state }", _checks(100)),
    _with_others("100 checks, all fields", f"relationWith(ids: $others) {{ {FULL} }}", _checks(100)),
    _with_others("1,000 checks", "relationWith(ids: $others) { state }", _checks(1000)),
    _with_others("1,000 checks, all fields", f"relationWith(ids: $others) {{ {FULL} }}", _checks(1000)),
    _with_others("mask of 1,000 users", "relationMask(ids: $others)", _checks(1000)),
    CostQuery(
        "masks of 20 users, 1,000 each",
        "query ($ids: [ID!]!, $others: [ID!]!) { users(ids: $ids) { relationMask(ids: $others) } }",
        _many_checks(20, 1000),
    ),
    CostQuery(
        "relations of 20 users, 1,000 each",
        "query ($ids: [ID!]!, $others: [ID!]!) { users(ids: $ids) { relationWith(ids: $others) { id state } } }",
        _many_checks(20, 1000),
    ),
    _of_users("the viewer's relations to 100 users", "viewerRelation { state followedAt }", _users(100)),
    _of_users("buttons of 100 users", "viewerIsFollowing isFollowingViewer viewerCanFollow", _users(100)),
    _of_users("eligibility of 20 users", "viewerFollowEligibility { code message }", _users(20)),
    CostQuery("100 relations by id", "query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Relation { state } } }", _relations(100)),
    CostQuery("one user by id", "query ($id: ID!) { node(id: $id) { id ... on User { followerCount } } }", _user),
    _of_viewer("the viewer", "id user { id followerCount }", Sender.VIEWER),
    _of_viewer("the viewer's settings", "relationshipSettings { protected followersAudience }", Sender.VIEWER),
    _of_viewer("the viewer's limits", "limits { following { remaining } changes { remaining } }", Sender.VIEWER),
    _of_viewer("close follows", "closeFollows { nodes { id } }"),
    _of_viewer("blocked users", "blockedUsers { totalCount edges { blockedAt node { id } } }"),
    _of_viewer("muted users", "mutedUsers { edges { mutedUntil node { id } } }"),
    _of_viewer("suggestions", "suggestions(first: 10) { nodes { user { id } reason knownFollowerCount } }"),
    _of_viewer("number of suggestions", "suggestions(first: 10) { totalCount }"),
    _of_service("500 pairs", "query ($pairs: [UserPair!]!) { relationsBetween(pairs: $pairs) { state } }", _pairs),
    _of_service("accounts of 100 users", "query ($ids: [ID!]!) { accounts(ids: $ids) { state } }", _users(100)),
    _of_service("1,000 entities", "query ($all: [_Any!]!) { _entities(representations: $all) { ... on User { id followerCount } } }", _entities(1000)),
    _of_service("10,000 entities", "query ($all: [_Any!]!) { _entities(representations: $all) { ... on User { id } } }", _entities(10_000)),
    CostQuery("the schema for routers", "{ _service { sdl } }", sender=Sender.SERVICE),
    CostQuery("introspection", INTROSPECTION, sender=Sender.NOBODY, is_cached=False),
    _mutation("followUser", "followUser", "outcome relation { state }"),
    _mutation("unfollowUser without a follow", "unfollowUser", "outcome"),
    _mutation("muteUser", "muteUser", "outcome"),
    CostQuery(
        "20 follows at once",
        "mutation ($changes: [RelationshipChangeInput!]!) { changeRelationships(input: { changes: $changes }) { outcome changes { outcome } } }",
        _changes,
    ),
    CostQuery(
        "100 interactions",
        "mutation ($all: [InteractionInput!]!) { recordInteractions(input: { interactions: $all }) { recorded } }",
        _interactions,
        sender=Sender.SERVICE,
    ),
)  # fmt: skip
