"""What of an event is told to whom: every kind before and after, every actor, every viewer."""

from itertools import product

import pytest

from graph.edge import Kind, Millis, UserId, Version
from graph.event import Event, EventType, told

SOURCE, TARGET, THIRD = UserId(1), UserId(2), UserId(3)
FOLLOWS = (Kind.FOLLOW, Kind.WHISPER)
CHANGES = list(product(Kind, Kind, (SOURCE, TARGET)))


def event(before: Kind, after: Kind, actor: UserId = SOURCE) -> Event:
    return Event(Version(5), actor, SOURCE, TARGET, before, after, Millis(0))


def test_an_events_id_is_of_one_change_of_one_edge() -> None:
    assert event(Kind.NONE, Kind.FOLLOW).id == "5-1-2"


@pytest.mark.parametrize(
    ("before", "after", "actor", "source_hears", "target_hears"),
    [
        (Kind.NONE, Kind.FOLLOW, SOURCE, "FOLLOWED", "FOLLOWED"),
        (Kind.NONE, Kind.WHISPER, SOURCE, "FOLLOWED", "FOLLOWED"),
        (Kind.FOLLOW, Kind.NONE, SOURCE, "UNFOLLOWED", "UNFOLLOWED"),
        (Kind.WHISPER, Kind.FOLLOW, SOURCE, "FOLLOW_CHANGED", "FOLLOW_CHANGED"),
        (Kind.FOLLOW, Kind.WHISPER, SOURCE, "FOLLOW_CHANGED", "FOLLOW_CHANGED"),
        (Kind.FOLLOW, Kind.NONE, TARGET, "UNFOLLOWED", "FOLLOWER_REMOVED"),
        (Kind.NONE, Kind.REQUEST, SOURCE, "REQUESTED", "REQUESTED"),
        (Kind.REQUEST, Kind.FOLLOW, SOURCE, "FOLLOWED", "FOLLOWED"),
        (Kind.REQUEST, Kind.FOLLOW, TARGET, "REQUEST_ACCEPTED", "REQUEST_ACCEPTED"),
        (Kind.REQUEST, Kind.NONE, TARGET, "REQUEST_DECLINED", "REQUEST_DECLINED"),
        (Kind.REQUEST, Kind.NONE, SOURCE, "REQUEST_CANCELLED", "REQUEST_CANCELLED"),
        (Kind.NONE, Kind.BLOCK, SOURCE, "BLOCKED", None),
        (Kind.FOLLOW, Kind.BLOCK, SOURCE, "BLOCKED", "UNFOLLOWED"),
        (Kind.REQUEST, Kind.BLOCK, SOURCE, "BLOCKED", "REQUEST_CANCELLED"),
        (Kind.BLOCK, Kind.NONE, SOURCE, "UNBLOCKED", None),
        (Kind.BLOCK, Kind.FOLLOW, SOURCE, "UNBLOCKED", "FOLLOWED"),
        (Kind.FOLLOW, Kind.FOLLOW, SOURCE, None, None),
    ],
)
def test_each_end_hears_of_the_edge_that_it_sees(
    before: Kind, after: Kind, actor: UserId, source_hears: str | None, target_hears: str | None
) -> None:
    happened = event(before, after, actor)
    hears = [told(happened, viewer) for viewer in (SOURCE, TARGET)]
    assert [kind.name if kind else None for kind in hears] == [source_hears, target_hears]


@pytest.mark.parametrize(("before", "after", "actor"), CHANGES)
@pytest.mark.parametrize("whispers", [True, False])
def test_nobody_else_hears_anything(
    before: Kind, after: Kind, actor: UserId, whispers: bool
) -> None:
    assert told(event(before, after, actor), THIRD, whispers=whispers) is None


@pytest.mark.parametrize(("before", "after", "actor"), CHANGES)
def test_a_block_sounds_like_nothing_to_the_blocked(
    before: Kind, after: Kind, actor: UserId
) -> None:
    was, became = (Kind.NONE if kind is Kind.BLOCK else kind for kind in (before, after))
    heard = told(event(before, after, actor), TARGET)
    assert heard == told(event(was, became, actor), TARGET)
    assert heard not in (EventType.BLOCKED, EventType.UNBLOCKED)


@pytest.mark.parametrize("before", [Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST])
def test_to_the_removed_a_block_sounds_like_a_removal(before: Kind) -> None:
    """A block ends the other's follow in a step of its own, which is that of a removal."""
    removed = told(event(before, Kind.NONE, TARGET), SOURCE)
    assert removed in (EventType.UNFOLLOWED, EventType.REQUEST_DECLINED)


@pytest.mark.parametrize(("before", "after", "actor"), CHANGES)
def test_a_hidden_whisper_sounds_like_nothing_to_its_target(
    before: Kind, after: Kind, actor: UserId
) -> None:
    happened = event(before, after, actor)
    was, became = (Kind.NONE if kind is Kind.WHISPER else kind for kind in (before, after))
    expected = told(event(was, became, actor), TARGET)
    if before is Kind.REQUEST and after is Kind.WHISPER and actor == TARGET:
        expected = EventType.REQUEST_ACCEPTED  # by this very viewer
    assert told(happened, TARGET, whispers=False) == expected


@pytest.mark.parametrize(("before", "after", "actor"), CHANGES)
@pytest.mark.parametrize("viewer", [SOURCE, TARGET])
def test_a_change_that_is_seen_is_told(
    before: Kind, after: Kind, actor: UserId, viewer: UserId
) -> None:
    sees = [Kind.NONE if viewer == TARGET and k is Kind.BLOCK else k for k in (before, after)]
    assert (told(event(before, after, actor), viewer) is None) == (sees[0] is sees[1])
