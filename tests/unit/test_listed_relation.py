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
    return Evidence(Pair(ONE, TWO), lists, viewer, shows_whispers=True).agreed(loaded)


@pytest.mark.parametrize("kind", [Kind.WHISPER, Kind.FOLLOW])
def test_a_follow_that_only_the_list_of_its_source_shows_keeps_its_kind(kind: Kind) -> None:
    """The followers of the target lag. A service sees whispers in both lists."""
    of_target = lists_of(TWO, followers=listed(shows_whispers=True))
    of_source = lists_of(ONE, following=listed(TWO, shows_whispers=True))
    loaded = relation(kind)
    assert agreed(loaded, of_target, of_source) == loaded
    assert agreed(loaded, of_source, of_target) == relation(Kind.NONE)


def test_the_lists_that_count_last_decide_on_a_whisper() -> None:
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
