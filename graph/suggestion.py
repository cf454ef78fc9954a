"""Suggestions: the candidates to follow, their scores, and the reasons.

The score of a candidate is the sum of

* the current strength of the viewer's affinity to the candidate, times `INTERACTION_WORTH`;
* the weights of those users whom the viewer follows and who follow the candidate. The weight of a
  user who follows n users is proportional to n ** -`DAMPING`, and for a friend of the viewer
  `FRIEND_WEIGHT` times that. The mean weight is 1, and each weight is rounded to a multiple of
  `WEIGHT_STEP`. A damping of 1 is resource allocation (T. Zhou, L. Lü and Y.-C. Zhang, "Predicting
  Missing Links via Local Information", 2009); with a damping of 0, the sum is the number of common
  neighbours;
* for a viewer none of whose followed users shows whom they follow: `PEER_WEIGHT` for each peer who
  follows the candidate. Peers are users who follow the same users as the viewer;
* if the candidate follows the viewer: `FOLLOW_BACK_WORTH`, times the part of the newest followers
  whom the viewer follows back.

If none of these may be suggested, the candidates are the users whom at least `POPULAR_MIN` users of
a sample of the space follow, most followed first.

The parameters scored best in `python -m bench.suggestions`: see docs/suggestions.md.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple, cast

from graph.edge import Flags, Kind, UserId
from graph.page import Position
from graph.relation import REVERSE_KIND_MASK

DAMPING = 0.3
FRIEND_WEIGHT = 2.0
FOLLOW_BACK_WORTH = 28.0
"""The score of a follower of a viewer who follows back everybody."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of the scores. The benchmark tries other values."""

    damping: float = DAMPING
    friend_weight: float = FRIEND_WEIGHT
    follow_back_worth: float = FOLLOW_BACK_WORTH


CHOSEN = Parameters()

WEIGHT_STEP = 0.5
"""Scores are counted in steps of this size, because `Counter` adds integers in C, several times as
fast as Python adds fractions. The suggestions are as good on every graph of the benchmark."""

PEER_WEIGHT = WEIGHT_STEP
"""The lowest weight of a user whom the viewer follows."""

POPULAR_MIN = 2
"""How many users of the sample must follow a user who is suggested as popular."""

INTERACTION_WORTH = 4.0
"""The score of an interaction of weight 1 made now: with it, a message counts nearly as much as a
follower of a viewer who follows back everybody."""

PRIOR_FOLLOWED_BACK, PRIOR_FOLLOWERS = 1, 3
"""Added to the number of followers whom a viewer follows back and to the number of followers, so
that the first few followers do not decide alone."""

_USER = itemgetter(1)
"""The user of an entry."""


class Reason(Enum):
    """Why a user is suggested: the first of these reasons that applies."""

    FOLLOWS_YOU = "FOLLOWS_YOU"
    FRIENDS_OF_FRIENDS = "FRIENDS_OF_FRIENDS"
    FOLLOWED_BY_PEERS = "FOLLOWED_BY_PEERS"
    POPULAR = "POPULAR"


class Suggestion(NamedTuple):
    """A suggested user and the reason."""

    user: UserId
    reason: Reason
    known: Sequence[UserId]
    """The users followed by the viewer who follow the suggested user."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, and the lists that they come from."""

    best_first: Sequence[UserId]
    followers: frozenset[UserId]
    circles: Mapping[UserId, Sequence[UserId]]
    """For some of the users whom the viewer follows: whom each of them follows."""
    default_reason: Reason = Reason.FOLLOWED_BY_PEERS
    """The reason for a candidate who is not in `followers` or in any of the `circles`."""

    def explained(self, users: Sequence[UserId]) -> list[Suggestion]:
        """These candidates with their reasons, in the given order.

        To be called only for the candidates to show: for all, it would take several times as long
        as ordering them.
        """
        known: dict[UserId, list[UserId]] = {user: [] for user in users}
        wanted = frozenset(users)
        for middle, circle in self.circles.items():
            for user in wanted.intersection(circle):
                known[user].append(middle)
        return [Suggestion(user, self._reason(user, known[user]), known[user]) for user in users]

    def _reason(self, user: UserId, known: Sequence[UserId]) -> Reason:
        if user in self.followers:
            return Reason.FOLLOWS_YOU
        return Reason.FRIENDS_OF_FRIENDS if known else self.default_reason


def middles_of(
    newest: Iterable[UserId], examined: Iterable[tuple[UserId, int | None]], limit: int
) -> dict[UserId, int]:
    """The users between the viewer and the candidates, and how many users each follows.

    `newest`: all users whom the viewer follows, newest first. `examined`: some of them, closest
    first, each with the number of users whom they follow, None if the viewer may not see it.
    Returns the first `limit` of `examined` who follow anybody, in the order of `newest`: the order
    of `examined` would reveal the hidden affinity in the reasons of suggestions.
    """
    middles = dict(islice(((user, total) for user, total in examined if total), limit))
    return {user: middles[user] for user in newest if user in middles}


def candidates(
    followers: Sequence[Position],
    followed: frozenset[UserId],
    middles: Mapping[UserId, int],
    circles: Mapping[UserId, Sequence[Position]],
    strengths: Mapping[UserId, float],
    peers: Iterable[Sequence[Position]] = (),
    parameters: Parameters = CHOSEN,
) -> Candidates:
    """All candidates, best first. They may include the viewer, users whom the viewer follows, and
    users who may not be suggested: the caller leaves them out.

    `followers`: the viewer's followers, newest first. `followed`: the users whom the viewer
    follows. `middles`: the result of `middles_of`. `circles`: for each of them, entries of their
    list of follows. `strengths`: the viewer's affinity to users. `peers`: for each peer, entries of
    their list of follows. Candidates with the same score are in the order in which the lists name
    them, the followers first.
    """
    follower_ids = list(map(_USER, followers))
    is_follower = frozenset(follower_ids)
    followed_by = {middle: list(map(_USER, circle)) for middle, circle in circles.items()}
    weights = weights_of(middles, is_follower, parameters)
    steps = Counter(dict.fromkeys(follower_ids, 0))
    steps.update(
        chain.from_iterable(followed_by[user] * weight for user, weight in weights.items())
    )
    steps.update(chain.from_iterable(map(_USER, circle) for circle in peers))
    scores = cast("dict[UserId, float]", steps)
    follower_score = follow_back_worth(follower_ids, followed, parameters) / WEIGHT_STEP
    interactions = scores.keys() & strengths.keys()
    if not interactions:
        # All other scores are integers, and a follower precedes others with the same integer, so
        # rounding down changes no order. Numbers of one type are sorted faster.
        follower_score = int(follower_score)
    for user in follower_ids:
        scores[user] += follower_score
    for user in interactions:
        scores[user] += INTERACTION_WORTH * strengths[user] / WEIGHT_STEP
    best_first = sorted(scores, key=scores.__getitem__, reverse=True)  # keeps the order of equals
    return Candidates(best_first, is_follower, followed_by)


def popular(lists: Iterable[Sequence[Position]]) -> Candidates:
    """The users who are in most of these lists of follows, best first. Of equals, those whom the
    lists name first."""
    counts = Counter(map(_USER, chain.from_iterable(lists)))
    best_first = [user for user, count in counts.most_common() if count >= POPULAR_MIN]
    return Candidates(best_first, frozenset(), {}, Reason.POPULAR)


def peers_of(
    lists: Iterable[Sequence[Position]], left_out: Set[UserId], limit: int
) -> list[UserId]:
    """The users who are in most of these lists of followers, at most `limit`, without `left_out`.
    Of equals, those whom the lists name first."""
    shared = Counter(user for entries in lists for _, user in entries if user not in left_out)
    return [user for user, _ in shared.most_common(limit)]


def follow_back_worth(
    followers: Collection[UserId], followed: frozenset[UserId], parameters: Parameters = CHOSEN
) -> float:
    """The score of a follower of a viewer with these newest followers, who follows `followed`."""
    back = len(followed.intersection(followers)) + PRIOR_FOLLOWED_BACK
    return parameters.follow_back_worth * back / (len(followers) + PRIOR_FOLLOWERS)


def weights_of(
    middles: Mapping[UserId, int], followers: frozenset[UserId], parameters: Parameters = CHOSEN
) -> Mapping[UserId, int]:
    """The weight of each middle in steps of `WEIGHT_STEP`, at least one, by how many users they
    follow and whether they follow the viewer."""
    damped = {
        user: total**-parameters.damping * (parameters.friend_weight if user in followers else 1.0)
        for user, total in middles.items()
    }
    mean = sum(damped.values()) / max(1, len(damped))
    step = mean * WEIGHT_STEP
    return {user: max(1, round(weight / step)) for user, weight in damped.items()}


def may_suggest(kinds: int) -> bool:
    """Whether a user may be suggested to a viewer. `kinds` is of the viewer's relation to the user.

    The viewer must have no edge and no flag (muted, dismissed) about the user, and must not be
    blocked by the user.
    """
    return kinds & ~REVERSE_KIND_MASK == _NO_EDGE_NO_FLAGS and kinds >> 4 & 15 != Kind.BLOCK


_NO_EDGE_NO_FLAGS = Kind.NONE | Flags.PLAIN << 8
