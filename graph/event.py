"""Events: what happened to an edge, and which event type each of its ends may see.

An event holds everything; `event_type_for` limits it to what one viewer may see: each end sees an
event if it can see the edge. The target never sees a block or a flag, and sees a whisper only where
whispers are shown to their targets. A blocked user sees a block as an ended follow, or not at all.
"""

from dataclasses import dataclass
from enum import Enum

from graph.edge import FOLLOWS, Flags, Kind, Millis, UserId, Version
from graph.steps import FOLLOW_FLAGS


class EventType(Enum):
    """A change between `source` and `target`."""

    FOLLOWED = "FOLLOWED"
    UNFOLLOWED = "UNFOLLOWED"
    FOLLOW_CHANGED = "FOLLOW_CHANGED"
    FOLLOWER_REMOVED = "FOLLOWER_REMOVED"
    REQUESTED = "REQUESTED"
    REQUEST_ACCEPTED = "REQUEST_ACCEPTED"
    REQUEST_DECLINED = "REQUEST_DECLINED"
    REQUEST_CANCELLED = "REQUEST_CANCELLED"
    BLOCKED = "BLOCKED"
    UNBLOCKED = "UNBLOCKED"
    MUTED = "MUTED"
    UNMUTED = "UNMUTED"
    SUGGESTION_DISMISSED = "SUGGESTION_DISMISSED"


@dataclass(frozen=True, slots=True)
class Event:
    """One applied change of the edge from `source` to `target`, made by `actor`, one of the two."""

    version: Version
    actor: UserId
    source: UserId
    target: UserId
    kind_before: Kind
    kind_after: Kind
    since: Millis
    """The edge's date after the change."""
    flags_before: Flags = Flags.PLAIN
    flags_after: Flags = Flags.PLAIN

    @property
    def id(self) -> str:
        """The event's unique id, the same on every delivery."""
        return f"{self.version}-{self.source}-{self.target}"

    @property
    def ends(self) -> tuple[UserId, UserId]:
        return self.source, self.target

    @property
    def changes_counts(self) -> bool:
        """Whether a public follow began or ended, so that the counts of both ends changed that
        others may see."""
        return (self.kind_before is Kind.FOLLOW) is not (self.kind_after is Kind.FOLLOW)

    @property
    def changes_block(self) -> bool:
        """Whether a block began or ended, so that the target's access to the source's lists
        changed."""
        return (self.kind_before is Kind.BLOCK) is not (self.kind_after is Kind.BLOCK)


_SHOWS_EDGE = frozenset(
    {
        EventType.FOLLOWED,
        EventType.FOLLOW_CHANGED,
        EventType.REQUESTED,
        EventType.REQUEST_ACCEPTED,
    }
)
"""The types of events that begin or change a follow or a request."""


def shown_user(event: Event, seen_as: EventType, viewer: UserId) -> UserId | None:
    """The user with whom the event, seen by the viewer as `seen_as`, shows a follow or a request.

    None for ends of such edges, blocks, mutes and dismissals. These are not hidden if
    the other user is absent or there is a block between the two.
    """
    if seen_as not in _SHOWS_EDGE:
        return None
    return event.target if viewer == event.source else event.source


def event_type_for(event: Event, viewer: UserId, *, whispers: bool = True) -> EventType | None:
    """The type under which the viewer sees the event. None if the viewer must not see it.

    Without `whispers`, whispers are hidden from their targets.
    """
    old, new = event.kind_before, event.kind_after
    if viewer == event.target:
        if _is_acceptance(event):
            return EventType.REQUEST_ACCEPTED  # the viewer accepted it, so nothing to hide
        old, new = _seen_by_target(old, whispers), _seen_by_target(new, whispers)
    elif viewer != event.source:
        return None
    if old is new:
        return _flags_event_type(event) if viewer == event.source else None
    if new is Kind.NONE:
        return _end_event_type(event, viewer, old)
    return _begin_event_type(event, old, new)


def _begin_event_type(event: Event, old: Kind, new: Kind) -> EventType:
    """The type of a change after which the viewer sees an edge. `old`, `new`: the kinds that the
    viewer sees."""
    if new is Kind.BLOCK:
        return EventType.BLOCKED
    if old is Kind.BLOCK:
        return EventType.UNBLOCKED  # by an undo, which also restores what the block ended
    if new is Kind.REQUEST:
        return EventType.REQUESTED
    if _is_acceptance(event):
        return EventType.REQUEST_ACCEPTED
    return EventType.FOLLOW_CHANGED if old in FOLLOWS else EventType.FOLLOWED


def _end_event_type(event: Event, viewer: UserId, old: Kind) -> EventType:
    """The type of a change after which the viewer sees no edge. `old`: the kind that the viewer saw
    before."""
    by_target = event.actor == event.target
    if old is Kind.BLOCK:
        return EventType.UNBLOCKED
    if old is Kind.REQUEST:
        return EventType.REQUEST_DECLINED if by_target else EventType.REQUEST_CANCELLED
    # A removed follower and a blocked one see the same type, so that it does not reveal a block.
    removed = by_target and viewer == event.target
    return EventType.FOLLOWER_REMOVED if removed else EventType.UNFOLLOWED


def _flags_event_type(event: Event) -> EventType | None:
    """The type of a change of flags. Only the owner of the edge may see it."""
    old, new = event.flags_before, event.flags_after
    if (old ^ new) & FOLLOW_FLAGS:
        return EventType.FOLLOW_CHANGED
    if Flags.DISMISSED in new & ~old:
        return EventType.SUGGESTION_DISMISSED
    if old == new:
        # Of equal flags, only the end date of a mute can have changed.
        return EventType.MUTED if Flags.MUTED in new else None
    if Flags.MUTED in old ^ new:
        return EventType.MUTED if Flags.MUTED in new else EventType.UNMUTED
    return None  # a withdrawn dismissal, or a flag of a request


def _is_acceptance(event: Event) -> bool:
    was_requested = event.kind_before is Kind.REQUEST and event.kind_after in FOLLOWS
    return was_requested and event.actor == event.target


def _seen_by_target(kind: Kind, whispers: bool) -> Kind:
    """The kind of an edge as its target sees it."""
    hidden = kind is Kind.BLOCK or (kind is Kind.WHISPER and not whispers)
    return Kind.NONE if hidden else kind
