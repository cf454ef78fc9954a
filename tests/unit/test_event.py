"""Which event types a viewer sees: every kind before and after, every actor, every viewer."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from graph.decision_types import PairState, Step
from graph.edge import Flags, Kind, Millis, UserId, Version
from graph.event import Event, EventType, event_type_for
from graph.relation import relation_of
from graph.visibility import seen_by_first
from tests.support.relationship_states import ACTIONS, of_kind

SOURCE, TARGET, THIRD = UserId(1), UserId(2), UserId(3)
CHANGES = [change for change in product(Kind, Kind, (SOURCE, TARGET)) if change[0] is not change[1]]
"""All changes of a kind, each by either user: (kind before, kind after, actor)."""


def event(before: Kind, after: Kind, actor: UserId = SOURCE) -> Event:
    return Event(Version(5), actor, SOURCE, TARGET, before, after, Millis(0))


def test_the_id_of_an_event_has_the_version_and_both_users_of_the_edge() -> None:
    assert event(Kind.NONE, Kind.FOLLOW).id == "5-1-2"


@pytest.mark.parametrize(
    ("before", "after", "actor", "source_sees", "target_sees"),
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
    ],
)
def test_source_and_target_get_events_of_the_edge_as_each_sees_it(
    before: Kind, after: Kind, actor: UserId, source_sees: str | None, target_sees: str | None
) -> None:
    changed = event(before, after, actor)
    seen = [event_type_for(changed, viewer) for viewer in (SOURCE, TARGET)]
    assert [kind.name if kind else None for kind in seen] == [source_sees, target_sees]


def test_nobody_else_receives_an_event() -> None:
    for change, whispers in product(CHANGES, (True, False)):
        assert event_type_for(event(*change), THIRD, whispers=whispers) is None, change


def test_the_target_of_a_block_sees_the_event_of_an_edge_that_ends() -> None:
    for before, after, actor in CHANGES:
        was, became = (Kind.NONE if kind is Kind.BLOCK else kind for kind in (before, after))
        seen = event_type_for(event(before, after, actor), TARGET)
        change = (before, after, actor)
        assert seen == event_type_for(event(was, became, actor), TARGET), change
        assert seen not in (EventType.BLOCKED, EventType.UNBLOCKED), change


@pytest.mark.parametrize("before", [Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST])
def test_a_follower_who_is_removed_by_a_block_sees_the_event_of_a_removal(before: Kind) -> None:
    """A block ends the other user's follow or request in a separate step, like a removal."""
    removed = event_type_for(event(before, Kind.NONE, TARGET), SOURCE)
    assert removed in (EventType.UNFOLLOWED, EventType.REQUEST_DECLINED)


def test_a_hidden_whisper_causes_no_event_for_its_target() -> None:
    for before, after, actor in CHANGES:
        was, became = (Kind.NONE if kind is Kind.WHISPER else kind for kind in (before, after))
        expected = event_type_for(event(was, became, actor), TARGET)
        if before is Kind.REQUEST and after is Kind.WHISPER and actor == TARGET:
            expected = EventType.REQUEST_ACCEPTED  # the target has accepted it
        seen = event_type_for(event(before, after, actor), TARGET, whispers=False)
        assert seen == expected, (before, after, actor)


def test_a_viewer_gets_an_event_exactly_if_the_visible_kind_changes() -> None:
    for (before, after, actor), viewer in product(CHANGES, (SOURCE, TARGET)):
        sees = [Kind.NONE if viewer == TARGET and k is Kind.BLOCK else k for k in (before, after)]
        seen = event_type_for(event(before, after, actor), viewer)
        assert (seen is None) == (sees[0] is sees[1]), (before, after, actor, viewer)


@pytest.mark.parametrize(
    ("before", "after", "seen_type"),
    [
        (Flags.PLAIN, Flags.MUTED, "MUTED"),
        (Flags.MUTED, Flags.MUTED, "MUTED"),
        (Flags.MUTED | Flags.DISMISSED, Flags.DISMISSED, "UNMUTED"),
        (Flags.PLAIN, Flags.CLOSE_FOLLOW, "FOLLOW_CHANGED"),
        (Flags.CLOSE_FOLLOW | Flags.MUTED, Flags.MUTED, "FOLLOW_CHANGED"),
        (Flags.PLAIN, Flags.NOTIFY, "FOLLOW_CHANGED"),
        (Flags.NOTIFY | Flags.MUTED, Flags.MUTED, "FOLLOW_CHANGED"),
        (Flags.PLAIN, Flags.DISMISSED, "SUGGESTION_DISMISSED"),
        (Flags.MUTED, Flags.MUTED | Flags.DISMISSED, "SUGGESTION_DISMISSED"),
        (Flags.DISMISSED, Flags.PLAIN, None),
        (Flags.MUTED | Flags.DISMISSED, Flags.MUTED, None),
        (Flags.MUTED | Flags.DISMISSED, Flags.PLAIN, "UNMUTED"),
        (Flags.DISMISSED, Flags.DISMISSED, None),
        (Flags.PLAIN, Flags.WHISPER_REQUEST, None),
        (Flags.PLAIN, Flags.PLAIN, None),
    ],
)
def test_a_change_of_flags_is_an_event_for_the_owner_of_the_edge_alone(
    before: Flags, after: Flags, seen_type: str | None
) -> None:
    for kind in Kind:
        flags_changed = replace(event(kind, kind), flags_before=before, flags_after=after)
        assert event_type_for(flags_changed, SOURCE) is (
            EventType[seen_type] if seen_type else None
        ), kind
        assert (
            event_type_for(flags_changed, TARGET) is event_type_for(flags_changed, THIRD) is None
        ), kind


@pytest.mark.parametrize("kind", Kind)
def test_several_flags_changed_at_once_are_one_event_of_a_change_that_happened(kind: Kind) -> None:
    """There is no event if no flag with an event has changed."""
    conditions: dict[EventType, Callable[[Flags, Flags], bool]] = {
        EventType.FOLLOW_CHANGED: lambda was, now: bool(
            (was ^ now) & (Flags.CLOSE_FOLLOW | Flags.NOTIFY)
        ),
        EventType.SUGGESTION_DISMISSED: lambda was, now: Flags.DISMISSED in now & ~was,
        EventType.MUTED: lambda was, now: (
            Flags.MUTED in now and (was == now or Flags.MUTED not in was)
        ),
        EventType.UNMUTED: lambda was, now: Flags.MUTED in was & ~now,
    }
    for was, now in product(map(Flags, range(32)), repeat=2):
        seen = event_type_for(replace(event(kind, kind), flags_before=was, flags_after=now), SOURCE)
        possible = [event_type for event_type, holds in conditions.items() if holds(was, now)]
        assert seen in possible if seen else not possible, (was, now)


@pytest.mark.parametrize("action", ACTIONS)
def test_each_user_gets_an_event_exactly_if_their_visible_relation_changes(action: str) -> None:
    for kind, reverse_kind, whispers in product(Kind, Kind, (True, False)):
        assert_events_match_relations(action, kind, reverse_kind, whispers=whispers)


def assert_events_match_relations(
    action: str, kind: Kind, reverse_kind: Kind, *, whispers: bool
) -> None:
    """Each user gets an event exactly if the kinds change that they see of the relation."""
    rule, protected = ACTIONS[action]
    before = PairState(of_kind(kind), of_kind(reverse_kind), 1, 5, protected=protected)
    decision = rule(before)
    types = {
        viewer: [
            event_type
            for step in decision.steps
            if (event_type := event_type_for(event_of_step(step), viewer, whispers=whispers))
        ]
        for viewer in (SOURCE, TARGET)
    }
    ends = {
        SOURCE: [
            relation_of(before.edge, before.reverse),
            relation_of(decision.edge, decision.reverse),
        ],
        TARGET: [
            relation_of(before.reverse, before.edge),
            relation_of(decision.reverse, decision.edge),
        ],
    }
    for viewer, (was, became) in ends.items():
        seen = [seen_by_first(one, whispers=whispers).kinds for one in (was, became)]
        assert bool(types[viewer]) == (seen[0] != seen[1])
    if action == "blockUser":
        assert set(types[TARGET]) <= set(WITHOUT_BLOCK)


WITHOUT_BLOCK = (EventType.UNFOLLOWED, EventType.REQUEST_DECLINED, EventType.REQUEST_CANCELLED)
"""Events that also occur without a block."""


def event_of_step(step: Step) -> Event:
    """The event of a step of the actor `SOURCE`."""
    ends = (TARGET, SOURCE) if step.is_reverse else (SOURCE, TARGET)
    edge, previous = step.edge, step.previous
    return Event(
        edge.version,
        SOURCE,
        *ends,
        previous.kind,
        edge.kind,
        edge.since,
        previous.flags,
        edge.flags,
    )
