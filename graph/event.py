"""What happened to an edge, and as what it is told to each of its ends. Knows nothing of streams.

An event says all there is; `told` says how much of it a viewer may hear. One rule covers that: each
end hears of the edge that it sees. The target never sees a block or a flag, and sees a whisper only
where whispers are shown to their targets; so to the blocked a block is a follow that ended, if
anything.
"""

from dataclasses import dataclass
from enum import Enum

from graph.edge import FOLLOWS, Flags, Kind, Millis, UserId, Version


class EventType(Enum):
    """In one word, what happened between `source` and `target`."""

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
    before: Kind
    after: Kind
    since: Millis
    """Since when the edge is what it is after the change."""
    flags_before: Flags = Flags.PLAIN
    flags_after: Flags = Flags.PLAIN

    @property
    def id(self) -> str:
        """The same however often the event is delivered, and of no other event."""
        return f"{self.version}-{self.source}-{self.target}"

    @property
    def ends(self) -> tuple[UserId, UserId]:
        return self.source, self.target


def told(event: Event, viewer: UserId, *, whispers: bool = True) -> EventType | None:
    """As what the viewer hears of the event; None if they hear nothing.

    Without `whispers`, these are hidden from their targets.
    """
    before, after = event.before, event.after
    if viewer == event.target:
        if _is_accepted(event):
            return EventType.REQUEST_ACCEPTED  # by the viewer, who knows, whatever came of it
        before, after = _seen_by_target(before, whispers), _seen_by_target(after, whispers)
    elif viewer != event.source:
        return None
    if before is after:
        return _noted(event) if viewer == event.source else None
    if after is Kind.NONE:
        return _ended(event, viewer, before)
    return _begun(event, before, after)


def _begun(event: Event, before: Kind, after: Kind) -> EventType:
    if after is Kind.BLOCK:
        return EventType.BLOCKED
    if before is Kind.BLOCK:
        return EventType.UNBLOCKED  # by an undo, which also restores what the block took
    if after is Kind.REQUEST:
        return EventType.REQUESTED
    if _is_accepted(event):
        return EventType.REQUEST_ACCEPTED
    return EventType.FOLLOW_CHANGED if before in FOLLOWS else EventType.FOLLOWED


def _ended(event: Event, viewer: UserId, before: Kind) -> EventType:
    by_target = event.actor == event.target
    if before is Kind.BLOCK:
        return EventType.UNBLOCKED
    if before is Kind.REQUEST:
        return EventType.REQUEST_DECLINED if by_target else EventType.REQUEST_CANCELLED
    # The removed hear the same as the blocked, or else the difference would tell of the block.
    removed = by_target and viewer == event.target
    return EventType.FOLLOWER_REMOVED if removed else EventType.UNFOLLOWED


def _noted(event: Event) -> EventType | None:
    """A change of what the source says about the target, to nobody but themselves."""
    before, after = event.flags_before, event.flags_after
    if Flags.CLOSE_FOLLOW in before ^ after:
        return EventType.FOLLOW_CHANGED
    if Flags.DISMISSED in after & ~before:
        return EventType.SUGGESTION_DISMISSED
    if before == after:
        # Of a mute that stays, the end has changed.
        return EventType.MUTED if Flags.MUTED in after else None
    if Flags.MUTED in before ^ after:
        return EventType.MUTED if Flags.MUTED in after else EventType.UNMUTED
    return None  # a dismissal that is no more, and what is asked for by a request


def _is_accepted(event: Event) -> bool:
    asked = event.before is Kind.REQUEST and event.after in FOLLOWS
    return asked and event.actor == event.target


def _seen_by_target(kind: Kind, whispers: bool) -> Kind:
    hidden = kind is Kind.BLOCK or (kind is Kind.WHISPER and not whispers)
    return Kind.NONE if hidden else kind
