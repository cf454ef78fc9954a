"""Who is suggested, why, and before whom."""

from itertools import product

import pytest

from graph.edge import Kind, Millis, UserId
from graph.page import Position
from graph.relation import SELF, STRANGERS, kinds_of
from graph.suggestion import Reason, Suggestion, may_suggest, suggestions

ANN, BEN, CAT, DAN, EVE = map(UserId, range(1, 6))


def entries(*users: UserId) -> list[Position]:
    """The first began last."""
    return [Position(Millis(100 - place), user) for place, user in enumerate(users)]


def order(found: list[Suggestion]) -> list[UserId]:
    return [suggestion.user for suggestion in found]


def test_a_follower_comes_before_a_friend_of_friends() -> None:
    circles = {user: entries(EVE) for user in (ANN, BEN, CAT)}
    assert suggestions(entries(DAN), circles, {}) == [
        Suggestion(DAN, Reason.FOLLOWS_YOU, []),
        Suggestion(EVE, Reason.FRIENDS_OF_FRIENDS, [ANN, BEN, CAT]),
    ]


def test_more_known_followers_come_first() -> None:
    circles = {ANN: entries(EVE, DAN), BEN: entries(DAN)}
    assert order(suggestions([], circles, {})) == [DAN, EVE]


def test_a_follower_may_have_known_followers_too() -> None:
    (first, _) = suggestions(entries(EVE, DAN), {ANN: entries(DAN)}, {})
    assert first == Suggestion(DAN, Reason.FOLLOWS_YOU, [ANN])


def test_closeness_counts_as_much_as_known_followers() -> None:
    circles = {ANN: entries(EVE, DAN), BEN: entries(DAN)}
    assert order(suggestions([], circles, {EVE: 0.9})) == [DAN, EVE]
    assert order(suggestions([], circles, {EVE: 1.1})) == [EVE, DAN]


def test_of_equals_the_newest_follower_comes_first() -> None:
    assert order(suggestions(entries(CAT, ANN, BEN), {}, {})) == [CAT, ANN, BEN]


def test_closeness_changes_the_order_and_nothing_else() -> None:
    circles = {ANN: entries(EVE, DAN), BEN: entries(DAN, CAT)}
    plain = suggestions(entries(CAT), circles, {})
    close = suggestions(entries(CAT), circles, {EVE: 50.0, DAN: 3.0})
    assert plain != close
    by_user = {suggestion.user: suggestion for suggestion in plain}
    assert {suggestion.user: suggestion for suggestion in close} == by_user


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
