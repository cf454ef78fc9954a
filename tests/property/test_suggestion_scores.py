"""Candidates are in the order of scores that are computed directly."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log

from hypothesis import given
from hypothesis import strategies as st

from graph import suggestion
from graph.edge import Millis, UserId
from graph.page import Position
from graph.suggestion import Reason, candidates

OTHERS = [UserId(user) for user in range(2, 9)]

lists = st.lists(st.sampled_from(OTHERS), unique=True)
graphs = st.dictionaries(st.sampled_from(OTHERS), lists)


def score(
    user: UserId,
    fans: Sequence[UserId],
    followed: Sequence[UserId],
    graph: Mapping[UserId, Sequence[UserId]],
    strengths: Mapping[UserId, float],
) -> float:
    """The score as the docstring of `graph.suggestion` describes it."""

    def damped(middle: UserId) -> float:
        friends = suggestion.FRIEND_WEIGHT if middle in fans else 1.0
        return friends * exp(-suggestion.DAMPING * log(len(graph[middle])))

    middles = [other for other in followed if graph.get(other)]
    known = [other for other in middles if user in graph[other]]
    total = suggestion.INTERACTION_WORTH * strengths.get(user, 0.0)
    if known:
        step = suggestion.WEIGHT_STEP
        mean = sum(map(damped, middles)) / len(middles)
        total += sum(max(step, round(damped(other) / mean / step) * step) for other in known)
    if user in fans:
        back = len([fan for fan in fans if fan in followed])
        total += suggestion.FOLLOW_BACK_WORTH * (back + 1) / (len(fans) + 3)
    return total


@given(
    fans=lists,
    followed=lists,
    graph=graphs,
    strengths=st.dictionaries(st.sampled_from(OTHERS), st.floats(0, 100)),
)
def test_candidates_are_in_the_order_of_their_scores(
    fans: list[UserId],
    followed: list[UserId],
    graph: dict[UserId, list[UserId]],
    strengths: dict[UserId, float],
) -> None:
    middles = {user: len(graph[user]) for user in followed if graph.get(user)}
    found = candidates(
        _entries(fans),
        frozenset(followed),
        middles,
        {user: _entries(graph[user]) for user in middles},
        strengths,
    )
    reachable = {*fans, *(other for user in middles for other in graph[user])}
    assert sorted(found.best_first) == sorted(reachable)
    scores = [score(user, fans, followed, graph, strengths) for user in found.best_first]
    assert all(better >= worse - 1e-9 for better, worse in pairwise(scores))
    for shown in found.explained(found.best_first):
        assert shown.known == [user for user in middles if shown.user in graph[user]]
        assert (shown.reason is Reason.FOLLOWS_YOU) == (shown.user in fans)


def _entries(users: Sequence[UserId]) -> list[Position]:
    return [Position(Millis(len(users) - place), user) for place, user in enumerate(users)]
