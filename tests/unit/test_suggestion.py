"""The suggested users, their reasons and their order."""

from itertools import product

import pytest

from graph.edge import Kind, Millis, UserId
from graph.page import Position
from graph.relation import SELF, STRANGERS, kinds_of
from graph.suggestion import (
    FOLLOW_BACK_WORTH,
    Candidates,
    Reason,
    Suggestion,
    candidates,
    follow_back_worth,
    may_suggest,
    middles_of,
    peers_of,
    popular,
    weights_of,
)

ANN, BEN, CAT, DAN, EVE = map(UserId, range(1, 6))
NOBODY: frozenset[UserId] = frozenset()


def newest_first(*users: UserId) -> list[Position]:
    """Follows of these users, the newest first."""
    return [Position(Millis(100 - place), user) for place, user in enumerate(users)]


def candidates_of(
    followers: list[Position],
    follows_of: dict[UserId, list[Position]],
    strengths: dict[UserId, float] | None = None,
    totals: dict[UserId, int] | None = None,
) -> Candidates:
    """The candidates for a viewer with these followers, who follows the keys of `follows_of`.

    `strengths`: affinity scores. `totals`: how many users each key follows, by default ten.
    """
    middles = totals or dict.fromkeys(follows_of, 10)
    return candidates(followers, frozenset(follows_of), middles, follows_of, strengths or {})


def suggested_order(
    followers: list[Position],
    follows_of: dict[UserId, list[Position]],
    strengths: dict[UserId, float] | None = None,
) -> list[UserId]:
    return list(candidates_of(followers, follows_of, strengths).best_first)


def test_a_suggestion_has_a_reason_and_the_known_followers() -> None:
    follows_of = {user: newest_first(EVE) for user in (ANN, BEN, CAT)}
    both = candidates_of(newest_first(DAN), follows_of)
    assert both.best_first == [DAN, EVE]
    assert both.explained([EVE, DAN]) == [
        Suggestion(EVE, Reason.FRIENDS_OF_FRIENDS, [ANN, BEN, CAT]),
        Suggestion(DAN, Reason.FOLLOWS_YOU, []),
    ]


def test_users_with_more_known_followers_come_first() -> None:
    assert suggested_order([], {ANN: newest_first(EVE, DAN), BEN: newest_first(DAN)}) == [DAN, EVE]


def test_a_follower_may_have_known_followers_too() -> None:
    (first, _) = candidates_of(newest_first(EVE, DAN), {ANN: newest_first(DAN)}).explained(
        [DAN, EVE]
    )
    assert first == Suggestion(DAN, Reason.FOLLOWS_YOU, [ANN])


def test_the_follows_of_a_user_who_follows_few_count_more() -> None:
    follows_of = {ANN: newest_first(DAN), BEN: newest_first(EVE)}
    assert candidates_of([], follows_of, totals={ANN: 500, BEN: 5}).best_first == [EVE, DAN]
    assert candidates_of([], follows_of, totals={ANN: 5, BEN: 500}).best_first == [DAN, EVE]


def test_follows_of_friends_come_before_follows_of_followed_users() -> None:
    follows_of = {ANN: newest_first(DAN), BEN: newest_first(EVE)}
    assert suggested_order(newest_first(BEN), follows_of) == [BEN, EVE, DAN]


def test_weights_are_whole_steps_and_at_least_one() -> None:
    assert weights_of({}, NOBODY) == {}
    assert weights_of({ANN: 9, BEN: 9}, NOBODY) == {ANN: 2, BEN: 2}
    weights = weights_of({ANN: 3, BEN: 700, CAT: 20}, frozenset({CAT}))
    assert weights == {ANN: 3, BEN: 1, CAT: 3}
    assert weights_of({ANN: 1, BEN: 10**9}, NOBODY)[BEN] == 1, "a weight is at least 1"


def test_a_follower_counts_more_if_the_viewer_follows_back_more_followers() -> None:
    fan_ids = [UserId(user) for user in range(10, 110)]
    assert follow_back_worth([], NOBODY) == FOLLOW_BACK_WORTH / 3, "the viewer has no followers yet"
    assert follow_back_worth(fan_ids, NOBODY) < 1
    assert follow_back_worth(fan_ids, frozenset(fan_ids)) > 0.98 * FOLLOW_BACK_WORTH
    half = follow_back_worth(fan_ids, frozenset(fan_ids[::2]))
    assert half == pytest.approx(FOLLOW_BACK_WORTH / 2, rel=0.01)


def test_friends_of_friends_come_first_for_a_user_who_never_follows_back() -> None:
    fan_ids = newest_first(*(UserId(user) for user in range(10, 110)))
    assert suggested_order(fan_ids, {ANN: newest_first(EVE)})[0] == EVE


def test_an_interaction_counts_as_much_as_four_known_followers() -> None:
    follows_of = {ANN: newest_first(EVE, DAN), BEN: newest_first(DAN)}
    assert suggested_order([], follows_of, {EVE: 0.9 / 4}) == [DAN, EVE]
    assert suggested_order([], follows_of, {EVE: 1.1 / 4}) == [EVE, DAN]


def test_affinity_makes_nobody_a_candidate() -> None:
    assert suggested_order([], {ANN: newest_first(DAN)}, {EVE: 50.0}) == [DAN]


def test_of_equal_followers_the_newest_comes_first() -> None:
    assert suggested_order(newest_first(CAT, ANN, BEN), {}) == [CAT, ANN, BEN]


def test_affinity_changes_the_order_and_nothing_else() -> None:
    follows_of = {ANN: newest_first(EVE, DAN), BEN: newest_first(DAN, CAT)}
    without_affinity = candidates_of(newest_first(CAT), follows_of)
    with_affinity = candidates_of(newest_first(CAT), follows_of, {EVE: 50.0, DAN: 3.0})
    assert without_affinity.best_first != with_affinity.best_first
    users = sorted(without_affinity.best_first)
    assert sorted(with_affinity.best_first) == users
    assert with_affinity.explained(users) == without_affinity.explained(users)


def test_follows_of_peers_are_suggested_with_that_reason() -> None:
    peers = [newest_first(EVE, DAN), newest_first(DAN, CAT)]
    both = candidates(newest_first(CAT), NOBODY, {}, {}, {}, peers)
    assert both.best_first == [CAT, DAN, EVE]
    assert both.explained([CAT, DAN]) == [
        Suggestion(CAT, Reason.FOLLOWS_YOU, []),
        Suggestion(DAN, Reason.FOLLOWED_BY_PEERS, []),
    ]


def test_peers_are_the_users_in_the_greatest_number_of_lists() -> None:
    lists = [newest_first(ANN, BEN), newest_first(CAT, BEN), newest_first(DAN, EVE)]
    assert peers_of(lists, frozenset({DAN}), 3) == [BEN, ANN, CAT]


def test_users_who_follow_nobody_or_hide_their_follows_are_left_out() -> None:
    newest = [ANN, BEN, CAT, DAN, EVE]
    examined: list[tuple[UserId, int | None]] = [
        (EVE, 7), (ANN, 0), (BEN, None), (DAN, 2), (CAT, 9),
    ]  # fmt: skip
    assert list(middles_of(newest, examined, 2).items()) == [(DAN, 2), (EVE, 7)]
    assert list(middles_of(newest, examined, 9)) == [CAT, DAN, EVE]


@pytest.mark.parametrize(("kind", "reverse_kind"), list(product(Kind, Kind)))
def test_users_with_an_edge_of_the_viewer_or_a_block_are_not_suggested(
    kind: Kind, reverse_kind: Kind
) -> None:
    allowed = kind is Kind.NONE and reverse_kind is not Kind.BLOCK
    assert may_suggest(kinds_of(kind, reverse_kind)) is allowed


@pytest.mark.parametrize("flag", [1, 2, 4])
def test_a_user_with_a_flag_of_the_viewer_is_not_suggested(flag: int) -> None:
    assert may_suggest(STRANGERS.kinds)
    assert not may_suggest(STRANGERS.kinds | flag << 8)


def test_nobody_is_suggested_to_themselves() -> None:
    assert not may_suggest(SELF.kinds)


def test_users_whom_several_users_follow_are_popular() -> None:
    users = popular([newest_first(ANN, BEN), newest_first(BEN, CAT), newest_first(CAT, BEN, DAN)])
    assert users.best_first == [BEN, CAT]
    assert users.explained([CAT]) == [Suggestion(CAT, Reason.POPULAR, [])]
    assert popular([]).best_first == []
