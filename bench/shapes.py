"""The shapes of requests: their documents, and how their variables are drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.graphql_requests import Request, request
from bench.population import Population

Variables = dict[str, Any]
Draw = Callable[[Population, int, Random], Variables]

QUESTIONS = 2_000
"""Different requests per shape; the load generator repeats them."""
HUGE_QUESTIONS = 500
"""Fewer for requests with 500 ids, which are long."""
CONNECTIONS = 16
"""Enough to keep one core busy. More would only wait in its queue."""
FEW_CONNECTIONS = 4
"""For slow answers: fewer, because requests that still run at the end of a round use CPU but are
not counted."""
WRITES = 20_000
"""All follows of one run are different."""

STATE = "state"
FULL = "to { id } state following followedBy followedAt followedByAt friendsSince"
PAGE = "totalCount edges { cursor followedAt node { id } } pageInfo { hasNextPage endCursor }"


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape of request. `draw` gets the population, the request's index and a random source."""

    name: str
    title: str
    document: str
    draw: Draw
    checks: int = 0
    """Relation checks in one answer."""
    request_count: int = QUESTIONS
    """The number of different requests."""
    connections: int = CONNECTIONS
    signed_in: bool = False
    beyond_cache: bool = False
    """Whether the page is beyond the newest entries, which are always cached."""
    quick: bool = False
    """Whether `--quick` includes it."""

    @property
    def operation(self) -> str:
        """The name of the document's operation."""
        return self.document.split("(")[0].split()[1]

    @property
    def writes(self) -> bool:
        return self.document.startswith("mutation")

    def requests(
        self, people: Population, document: str | None = None, seed: int = 1
    ) -> list[Request]:
        """All requests of this shape, equal for equal seeds, with the given document."""
        chance = Random(f"{self.name}:{seed}")
        users = people.ordinary
        return [
            request(
                document or self.document,
                self.draw(people, index, chance),
                users[index % len(users)] if self.signed_in else None,
            )
            for index in range(self.request_count)
        ]


def _relations(count: int, fields: str, *, quick: bool) -> Shape:
    kind = "states" if fields == STATE else "relations"

    def draw(people: Population, index: int, chance: Random) -> Variables:
        user = people.ordinary[index % len(people.ordinary)]
        return {"user": str(user), "ids": people.others(user, count, chance)}

    return Shape(
        f"{kind}-{count}",
        f"relationWith, {count} id{'s' if count > 1 else ''}, "
        + ("state" if fields == STATE else "all fields"),
        f"query {kind.capitalize()}($user: ID!, $ids: [ID!]!) {{ user(id: $user) "
        f"{{ relationWith(ids: $ids) {{ {fields} }} }} }}",
        draw,
        checks=count,
        request_count=QUESTIONS if count < 500 else HUGE_QUESTIONS,
        signed_in=True,  # the viewer is the user: nearly all checks are of one's own relations
        quick=quick,
    )


def _page(field: str, *, quick: bool) -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        return {"user": str(people.ordinary[index % len(people.ordinary)])}

    return Shape(
        f"{field}-20",
        f"{field}, page of 20",
        f"query {field.capitalize()}($user: ID!) "
        f"{{ user(id: $user) {{ {field}(first: 20) {{ {PAGE} }} }} }}",
        draw,
        quick=quick,
    )


def _whale_page() -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        return {"user": str(people.whales[index % len(people.whales)])}

    return Shape(
        "whale-20",
        "followers of a whale, page of 20",
        _page("followers", quick=True).document,
        draw,
    )


def _deep_page() -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        whale, after = people.deep[index % len(people.deep)]
        return {"user": str(whale), "after": after}

    return Shape(
        "whale-20-deep",
        "the same, 1,000th page",
        "query Deep($user: ID!, $after: String!) "
        f"{{ user(id: $user) {{ followers(first: 20, after: $after) {{ {PAGE} }} }} }}",
        draw,
        beyond_cache=True,
    )


def _nested() -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        return {"ids": [str(other) for other in chance.sample(people.ordinary, 20)]}

    return Shape(
        "nested-20x10",
        "20 users, 10 followings each, each with viewerRelation",
        "query Nested($ids: [ID!]!) { users(ids: $ids) { id following(first: 10) "
        "{ edges { node { id viewerRelation { state } } } } } }",
        draw,
        checks=200,
        connections=FEW_CONNECTIONS,
        signed_in=True,
        quick=True,
    )


def _counts() -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        return {"ids": [str(other) for other in chance.sample(people.ordinary, 100)]}

    return Shape(
        "counts-100",
        "counts of 100 users",
        "query Counts($ids: [ID!]!) { users(ids: $ids) "
        "{ id followingCount followerCount friendCount } }",
        draw,
        connections=FEW_CONNECTIONS,
        quick=True,
    )


def _follow() -> Shape:
    def draw(people: Population, index: int, chance: Random) -> Variables:
        return {"input": {"userId": str(chance.randint(1, people.highest_id))}}

    return Shape(
        "follow",
        "followUser",
        "mutation Follow($input: FollowUserInput!) { followUser(input: $input) "
        "{ outcome relation { state } } }",
        draw,
        request_count=WRITES,
        signed_in=True,
    )


SHAPES = (
    _relations(1, STATE, quick=True),
    _relations(20, STATE, quick=True),
    _relations(100, STATE, quick=True),
    _relations(500, STATE, quick=True),
    _relations(1, FULL, quick=False),
    _relations(20, FULL, quick=False),
    _relations(100, FULL, quick=True),
    _relations(500, FULL, quick=False),
    _page("following", quick=False),
    _page("followers", quick=True),
    _whale_page(),
    _deep_page(),
    _nested(),
    _counts(),
    _follow(),
)
BY_NAME = {shape.name: shape for shape in SHAPES}
COLD = ("states-100", "relations-100", "followers-20")
"""The shapes that are also measured with empty caches."""
