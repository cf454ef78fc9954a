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


def entries(*users: UserId) -> list[Position]:
    """The first began last."""
    return [Position(Millis(100 - place), user) for place, user in enumerate(users)]


def found(
    followers: list[Position],
    circles: dict[UserId, list[Position]],
    strengths: dict[UserId, float] | None = None,
    totals: dict[UserId, int] | None = None,
) -> Candidates:
    """The candidates of a viewer who follows the owners of the circles. Unless there are `totals`,
    each of these follows ten users."""
    middles = totals or dict.fromkeys(circles, 10)
    return candidates(followers, frozenset(circles), middles, circles, strengths or {})


def order(
    followers: list[Position],
    circles: dict[UserId, list[Position]],
    strengths: dict[UserId, float] | None = None,
) -> list[UserId]:
    return list(found(followers, circles, strengths).best_first)


def test_reasons_name_who_is_known() -> None:
    circles = {user: entries(EVE) for user in (ANN, BEN, CAT)}
    both = found(entries(DAN), circles)
    assert both.best_first == [DAN, EVE]
    assert both.explained([EVE, DAN]) == [
        Suggestion(EVE, Reason.FRIENDS_OF_FRIENDS, [ANN, BEN, CAT]),
        Suggestion(DAN, Reason.FOLLOWS_YOU, []),
    ]


def test_more_known_followers_come_first() -> None:
    assert order([], {ANN: entries(EVE, DAN), BEN: entries(DAN)}) == [DAN, EVE]


def test_a_follower_may_have_known_followers_too() -> None:
    (first, _) = found(entries(EVE, DAN), {ANN: entries(DAN)}).explained([DAN, EVE])
    assert first == Suggestion(DAN, Reason.FOLLOWS_YOU, [ANN])


def test_the_follows_of_a_user_with_few_count_more() -> None:
    circles = {ANN: entries(DAN), BEN: entries(EVE)}
    assert found([], circles, totals={ANN: 500, BEN: 5}).best_first == [EVE, DAN]
    assert found([], circles, totals={ANN: 5, BEN: 500}).best_first == [DAN, EVE]


def test_follows_of_friends_come_before_follows_of_followed_users() -> None:
    circles = {ANN: entries(DAN), BEN: entries(EVE)}
    assert order(entries(BEN), circles) == [BEN, EVE, DAN]


def test_weights_are_one_on_average_and_whole_steps() -> None:
    assert weights_of({}, NOBODY) == {}
    assert weights_of({ANN: 9, BEN: 9}, NOBODY) == {ANN: 2, BEN: 2}
    weights = weights_of({ANN: 3, BEN: 700, CAT: 20}, frozenset({CAT}))
    assert weights == {ANN: 3, BEN: 1, CAT: 3}
    assert weights_of({ANN: 1, BEN: 10**9}, NOBODY)[BEN] == 1, "everybody counts"


def test_a_follower_counts_as_much_as_the_viewer_follows_back() -> None:
    fans = [UserId(user) for user in range(10, 110)]
    assert follow_back_worth([], NOBODY) == FOLLOW_BACK_WORTH / 3, "nothing is known"
    assert follow_back_worth(fans, NOBODY) < 1
    assert follow_back_worth(fans, frozenset(fans)) > 0.98 * FOLLOW_BACK_WORTH
    half = follow_back_worth(fans, frozenset(fans[::2]))
    assert half == pytest.approx(FOLLOW_BACK_WORTH / 2, rel=0.01)


def test_friends_of_friends_come_first_for_a_user_who_never_follows_back() -> None:
    fans = entries(*(UserId(user) for user in range(10, 110)))
    assert order(fans, {ANN: entries(EVE)})[0] == EVE


def test_an_interaction_counts_as_much_as_four_known_followers() -> None:
    circles = {ANN: entries(EVE, DAN), BEN: entries(DAN)}
    assert order([], circles, {EVE: 0.9 / 4}) == [DAN, EVE]
    assert order([], circles, {EVE: 1.1 / 4}) == [EVE, DAN]


def test_closeness_makes_nobody_a_candidate() -> None:
    assert order([], {ANN: entries(DAN)}, {EVE: 50.0}) == [DAN]


def test_of_equals_the_newest_follower_comes_first() -> None:
    assert order(entries(CAT, ANN, BEN), {}) == [CAT, ANN, BEN]


def test_closeness_changes_the_order_and_nothing_else() -> None:
    circles = {ANN: entries(EVE, DAN), BEN: entries(DAN, CAT)}
    plain = found(entries(CAT), circles)
    close = found(entries(CAT), circles, {EVE: 50.0, DAN: 3.0})
    assert plain.best_first != close.best_first
    users = sorted(plain.best_first)
    assert sorted(close.best_first) == users
    assert close.explained(users) == plain.explained(users)


def test_follows_of_peers_are_suggested_with_that_reason() -> None:
    peers = [entries(EVE, DAN), entries(DAN, CAT)]
    both = candidates(entries(CAT), NOBODY, {}, {}, {}, peers)
    assert both.best_first == [CAT, DAN, EVE]
    assert both.explained([CAT, DAN]) == [
        Suggestion(CAT, Reason.FOLLOWS_YOU, []),
        Suggestion(DAN, Reason.FOLLOWED_BY_PEERS, []),
    ]


def test_peers_are_in_most_lists_of_followers() -> None:
    lists = [entries(ANN, BEN), entries(CAT, BEN), entries(DAN, EVE)]
    assert peers_of(lists, frozenset({DAN}), 3) == [BEN, ANN, CAT]


def test_users_who_follow_nobody_or_hide_whom_take_no_place() -> None:
    newest = [ANN, BEN, CAT, DAN, EVE]
    examined: list[tuple[UserId, int | None]] = [
        (EVE, 7), (ANN, 0), (BEN, None), (DAN, 2), (CAT, 9),
    ]  # fmt: skip
    assert list(middles_of(newest, examined, 2).items()) == [(DAN, 2), (EVE, 7)]
    assert list(middles_of(newest, examined, 9)) == [CAT, DAN, EVE]


@pytest.mark.parametrize(("kind", "back"), list(product(Kind, Kind)))
def test_only_who_is_nothing_to_the_viewer_is_suggested(kind: Kind, back: Kind) -> None:
    allowed = kind is Kind.NONE and back is not Kind.BLOCK
    assert may_suggest(kinds_of(kind, back)) is allowed


@pytest.mark.parametrize("note", [1, 2, 4])
def test_a_user_with_a_flag_of_the_viewer_is_not_suggested(note: int) -> None:
    assert may_suggest(STRANGERS.kinds)
    assert not may_suggest(STRANGERS.kinds | note << 8)


def test_nobody_is_suggested_to_themselves() -> None:
    assert not may_suggest(SELF.kinds)


def test_popular_is_whom_several_users_follow() -> None:
    found = popular([entries(ANN, BEN), entries(BEN, CAT), entries(CAT, BEN, DAN)])
    assert found.best_first == [BEN, CAT]
    assert found.explained([CAT]) == [Suggestion(CAT, Reason.POPULAR, [])]
    assert popular([]).best_first == []
