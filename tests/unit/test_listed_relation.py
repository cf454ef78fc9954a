"""Relations that agree with the lists in the same response, for each order of the lists."""

import pytest

from graph.edge import Flags, Kind, Millis, Pair, UserId
from graph.relation import Relation, kinds_of
from resolvers.listed_relation import Evidence, OwnerLists
from resolvers.shown_pages import Listed

ONE, TWO = UserId(1), UserId(2)
DATE = Millis(1_000)


def relation(kind: Kind, reverse: Kind = Kind.NONE) -> Relation:
    since, reverse_since = (DATE if one is not Kind.NONE else Millis(0) for one in (kind, reverse))
    return Relation(kinds_of(kind, reverse, Flags.PLAIN), since, reverse_since)


def lists_of(
    owner: UserId,
    *,
    following: Listed | None = None,
    followers: Listed | None = None,
    friends: Listed | None = None,
) -> OwnerLists:
    return OwnerLists(owner, following, followers, friends)


def listed(*users: UserId, shows_whispers: bool) -> Listed:
    """A whole list of these users."""
    return Listed(dict.fromkeys(users, DATE), is_whole=True, shows_whispers=shows_whispers)


def agreed(loaded: Relation, *lists: OwnerLists, viewer: UserId | None = None) -> Relation:
    return Evidence(Pair(ONE, TWO), lists, viewer, shows_details=True).agreed(loaded)


@pytest.mark.parametrize("kind", [Kind.WHISPER, Kind.FOLLOW])
def test_a_follow_that_only_the_list_of_its_source_shows_keeps_its_kind(kind: Kind) -> None:
    """The followers of the target lag. A service sees whispers in both lists."""
    of_target = lists_of(TWO, followers=listed(shows_whispers=True))
    of_source = lists_of(ONE, following=listed(TWO, shows_whispers=True))
    loaded = relation(kind)
    assert agreed(loaded, of_target, of_source) == loaded
    assert agreed(loaded, of_source, of_target) == relation(Kind.NONE)


def test_the_last_list_in_order_decides_on_a_whisper() -> None:
    """The followers of the target have it as the follow that it was before."""
    of_target = lists_of(TWO, followers=listed(ONE, shows_whispers=False))
    of_source = lists_of(ONE, following=listed(TWO, shows_whispers=True))
    whisper, follow = relation(Kind.WHISPER), relation(Kind.FOLLOW)
    assert agreed(whisper, of_target, of_source, viewer=ONE) == whisper
    assert agreed(whisper, of_source, of_target, viewer=ONE) == follow


def test_a_whole_list_without_a_user_rules_a_follow_out() -> None:
    without_whispers = lists_of(ONE, following=listed(shows_whispers=False))
    with_whispers = lists_of(ONE, following=listed(shows_whispers=True))
    whisper, follow = relation(Kind.WHISPER), relation(Kind.FOLLOW)
    assert agreed(follow, without_whispers) == relation(Kind.NONE)
    assert agreed(whisper, without_whispers) == whisper
    assert agreed(whisper, with_whispers) == relation(Kind.NONE)


def test_only_a_public_follow_that_a_list_without_whispers_lacks_may_be_a_whisper() -> None:
    """Of a follow, the lists do not show whether it has ended or become a whisper."""
    pair, whisper, follow = Pair(ONE, TWO), relation(Kind.WHISPER), relation(Kind.FOLLOW)
    without_whispers = lists_of(ONE, following=listed(shows_whispers=False))
    with_whispers = lists_of(ONE, following=listed(shows_whispers=True))
    for lists, expected in [(without_whispers, [pair]), (with_whispers, [])]:
        evidence = Evidence(pair, [lists], TWO, shows_details=True)
        assert evidence.possible_whispers(follow, evidence.agreed(follow)) == expected
        assert not evidence.possible_whispers(whisper, evidence.agreed(whisper))
    evidence = Evidence(pair.reversed, [without_whispers], TWO, shows_details=True)
    loaded = follow.reversed
    assert evidence.possible_whispers(loaded, evidence.agreed(loaded)) == [pair]
    assert evidence.with_whisper(loaded, pair) == whisper.reversed


def test_a_whisper_that_the_list_of_its_target_shows_as_a_follow_stays() -> None:
    """The target's list of followers lags, and the list of the follower shows no whispers."""
    of_target = lists_of(TWO, followers=listed(ONE, shows_whispers=True))
    hiding = lists_of(TWO, followers=listed(ONE, shows_whispers=False))
    of_source = lists_of(ONE, following=listed(shows_whispers=False))
    whisper = relation(Kind.WHISPER)
    assert agreed(whisper, of_target, of_source, viewer=TWO) == whisper
    assert agreed(whisper, hiding, of_source, viewer=TWO) == whisper
