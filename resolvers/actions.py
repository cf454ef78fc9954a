"""The actions of a viewer on another user, with the limits of this gateway."""

from collections.abc import Hashable
from dataclasses import dataclass
from uuid import UUID

from graph import transitions
from graph.decision import Outcome, Rule
from graph.edge import Kind, Millis, UserId
from graph.receipt import digest, undo_token
from graph.transitions import Taken
from resolvers.scope import Limits

UNDO = "undo"


@dataclass(frozen=True, slots=True)
class Action:
    """One action on any target."""

    name: str
    rule: Rule
    to_self: Outcome
    """The outcome if the target is the actor."""
    said: tuple[Hashable, ...] = ()
    """The arguments of the action. Two actions are the same if names and arguments are."""
    takes: bool = False
    """Whether an undo can restore what the action ends."""
    spends: UUID | None = None
    """The actor's receipt that an undo consumes."""

    def asked(self, target: UserId) -> bytes:
        return digest(self.name, target, *self.said)


def follow(
    limits: Limits,
    kind: Kind = Kind.FOLLOW,
    *,
    close_follow: bool = False,
    message: str | None = None,
) -> Action:
    """Follow publicly or by a whisper. A protected user gets a request with `message`."""
    mutual = limits.mutual_approval
    rule = transitions.follow(
        limits.following_max, kind, close_follow=close_follow, message=message, mutual=mutual
    )
    return Action("follow", rule, Outcome.CANNOT_FOLLOW_SELF, (kind, close_follow, message))


def unfollow(limits: Limits) -> Action:
    """End the follow; if all follows are mutual, both directions."""
    rule = transitions.unfollow(mutual=limits.mutual_approval)
    return Action("unfollow", rule, Outcome.NOT_FOLLOWING, takes=True)


def update_follow(kind: Kind | None, close_follow: bool | None) -> Action:
    """Make a follow public or a whisper, close or not."""
    rule = transitions.update_follow(kind, close_follow)
    return Action("updateFollow", rule, Outcome.NOT_FOLLOWING, (kind, close_follow))


def remove_follower(limits: Limits) -> Action:
    """End the target's follow of the actor."""
    rule = transitions.remove_follower(
        whispers=not limits.whispers_hidden, mutual=limits.mutual_approval
    )
    return Action("removeFollower", rule, Outcome.NOT_FOLLOWED, takes=True)


def block(limits: Limits) -> Action:
    """Block the target and end all follows and requests between the two."""
    rule = transitions.block(limits.blocks_max)
    return Action("block", rule, Outcome.CANNOT_DO_TO_SELF, takes=True)


def unblock() -> Action:
    """End a block."""
    return Action("unblock", transitions.unblock(), Outcome.NOT_BLOCKED)


def mute(until: Millis | None) -> Action:
    """Mute the target, without an end or `until` a date."""
    return Action("mute", transitions.mute(until), Outcome.CANNOT_DO_TO_SELF, (until,))


def unmute() -> Action:
    """End a mute."""
    return Action("unmute", transitions.unmute(), Outcome.NOT_MUTED)


def accept_request(limits: Limits) -> Action:
    """Accept a request; if all follows are mutual, also follow back."""
    rule = transitions.accept_request(
        limits.following_max, whispers=not limits.whispers_hidden, mutual=limits.mutual_approval
    )
    return Action("acceptRequest", rule, Outcome.NO_REQUEST)


def decline_request() -> Action:
    """Decline a request."""
    return Action("declineRequest", transitions.decline_request(), Outcome.NO_REQUEST, takes=True)


def cancel_request() -> Action:
    """Cancel the actor's own request."""
    return Action("cancelRequest", transitions.cancel_request(), Outcome.NO_REQUEST, takes=True)


def dismiss() -> Action:
    """Never suggest the target to the actor again."""
    return Action("dismiss", transitions.dismiss(), Outcome.CANNOT_DO_TO_SELF)


def undo(limits: Limits, receipt_id: UUID, taken: Taken) -> Action:
    """Restore, once, what the change of a receipt ended."""
    rule = transitions.undo(limits.following_max, taken, whispers=not limits.whispers_hidden)
    token = undo_token(receipt_id)
    return Action(UNDO, rule, Outcome.CANNOT_UNDO, (token,), spends=receipt_id)
