"""Methods that suggest whom to follow: Kith's, and those of the literature on the whole graph.

D. Liben-Nowell and J. Kleinberg, "The Link-Prediction Problem for Social Networks", 2003, describe
common neighbours, L. Adamic's and E. Adar's measure and rooted PageRank; T. Zhou, L. Lü and Y.-C.
Zhang, "Predicting Missing Links via Local Information", 2009, resource allocation. Here the
neighbours of a user are the users whom the user follows.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from heapq import nsmallest
from math import log

from bench.suggestion_data import Split
from graph.edge import Millis, UserId
from graph.page import Position
from graph.suggestion import CHOSEN, Parameters, candidates, middles_of
from resolvers.suggestions import EXAMINED_MAX, FOLLOWERS_MAX, MIDDLE_FOLLOWS_MAX, MIDDLES_MAX

SHOWN = 10
"""The length of a list of suggestions."""
POPULAR = 10_000
"""The most followed users, among whom popularity looks for users who are not followed yet."""

PUSHED = 1e-5
"""The walk continues from a user only while the probability of being there is at least this number
times the number of their follows."""

Scores = Mapping[UserId, float]


@dataclass(frozen=True, slots=True)
class Method:
    """A method with a parameter. `prepare` is called once for each graph."""

    name: str
    prepare: Callable[[Split, float], Callable[[UserId], Scores]]
    parameters: Sequence[float] = (0.0,)
    """Candidates. The one that is best for the first half of the users is used."""


def best(split: Split, user: UserId, scores: Scores) -> list[UserId]:
    """The best users who may be suggested: not the user, a follow, or an ended follow."""
    excluded = {user, *split.following_of(user), *split.ended.get(user, ())}
    candidates = ((-score, other) for other, score in scores.items() if other not in excluded)
    return [other for _, other in nsmallest(SHOWN, candidates)]


def _weighted(weight: Callable[[int], float], split: Split, _: float) -> Callable[[UserId], Scores]:
    weights = {
        user: weight(max(1, len(split.following_of(user)) + len(split.followers_of(user))))
        for user in split.following
    }

    def scores(user: UserId) -> Scores:
        found: dict[UserId, float] = defaultdict(float)
        for middle in split.following_of(user):
            worth = weights.get(middle, 0.0)
            for other in split.following_of(middle):
                found[other] += worth
        return found

    return scores


def _co_follow(split: Split, _: float) -> Callable[[UserId], Scores]:
    """The sum of the cosines between the followers of a user and of each follow."""
    inverse_norm = {user: len(fans) ** -0.5 for user, fans in split.followers.items()}

    def scores(user: UserId) -> Scores:
        alike: dict[UserId, float] = defaultdict(float)
        for followed in split.following_of(user):
            for fan in split.followers_of(followed):
                alike[fan] += inverse_norm[followed]
        alike.pop(user, None)
        found: dict[UserId, float] = defaultdict(float)
        for fan, worth in alike.items():
            for other in split.following_of(fan):
                found[other] += worth
        return {other: score * inverse_norm[other] for other, score in found.items()}

    return scores


def _popularity(split: Split, _: float) -> Callable[[UserId], Scores]:
    counts = Counter({user: float(len(fans)) for user, fans in split.followers.items()})
    most_followed = dict(counts.most_common(POPULAR))
    return lambda _: most_followed


def _page_rank(split: Split, restart: float) -> Callable[[UserId], Scores]:
    """PageRank rooted at a user, by local pushes (R. Andersen, F. Chung and K. Lang, "Local Graph
    Partitioning using PageRank Vectors", 2006)."""

    def scores(user: UserId) -> Scores:
        found: dict[UserId, float] = defaultdict(float)
        rest: dict[UserId, float] = defaultdict(float, {user: 1.0})
        waiting = deque([user])
        while waiting:
            current = waiting.popleft()
            probability = rest.pop(current, 0.0)
            found[current] += restart * probability
            follows = split.following_of(current)
            if not follows:
                continue
            share = (1 - restart) * probability / len(follows)
            for other in follows:
                previous = rest[other]
                rest[other] = previous + share
                enough = PUSHED * max(1, len(split.following_of(other)))
                if previous < enough <= previous + share:
                    waiting.append(other)
        for other, left in rest.items():
            found[other] += restart * left
        return found

    return scores


def kith(split: Split) -> Callable[[Parameters, UserId], Scores]:
    """Kith's ranking, with the lists of the split in place of the stores, and without affinity."""

    @cache
    def circle(middle: UserId) -> list[Position]:
        return _entries(split.following_of(middle)[:MIDDLE_FOLLOWS_MAX])

    def scores(parameters: Parameters, user: UserId) -> Scores:
        newest = split.following_of(user)
        examined = ((middle, len(split.following_of(middle))) for middle in newest[:EXAMINED_MAX])
        middles = middles_of(newest, examined, MIDDLES_MAX)
        circles = {middle: circle(middle) for middle in middles}
        followers, followed = _entries(split.followers_of(user)[:FOLLOWERS_MAX]), frozenset(newest)
        found = candidates(followers, followed, middles, circles, {}, parameters=parameters)
        return {candidate: -place for place, candidate in enumerate(found.best_first)}

    return scores


def _kith(split: Split, _: float) -> Callable[[UserId], Scores]:
    return partial(kith(split), CHOSEN)


def _entries(users: Sequence[UserId]) -> list[Position]:
    return [Position(Millis(len(users) - place), user) for place, user in enumerate(users)]


METHODS: Sequence[Method] = (
    Method("Kith", _kith),
    Method("common neighbours", partial(_weighted, lambda degree: 1.0)),
    Method("Adamic-Adar", partial(_weighted, lambda degree: 1 / log(1 + degree))),
    Method("resource allocation", partial(_weighted, lambda degree: 1 / degree)),
    Method("co-follow cosine", _co_follow),
    Method("popularity", _popularity),
    Method("personalised PageRank", _page_rank, (0.15, 0.5)),
)
