"""What a viewer may do to another user, as the rules of this gateway say it.

Knows nothing of who the two are, and nothing of how anything is read or written.
"""

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
    """One thing to do, to whomever."""

    name: str
    rule: Rule
    to_self: Outcome
    """What becomes of it when a user does it to themselves."""
    said: tuple[Hashable, ...] = ()
    """What was said besides the name: two actions are the same if all of it is."""
    takes: bool = False
    """Whether what it ends can be given back."""
    spends: UUID | None = None
    """The actor's receipt whose change it gives back."""

    def asked(self, target: UserId) -> bytes:
        return digest(self.name, target, *self.said)


def follow(
    limits: Limits,
    kind: Kind = Kind.FOLLOW,
    *,
    close_follow: bool = False,
    message: str | None = None,
) -> Action:
    """To follow, openly or by a whisper; a protected user is asked, with a `message`."""
    mutual = limits.mutual_approval
    rule = transitions.follow(
        limits.following_max, kind, close_follow=close_follow, message=message, mutual=mutual
    )
    return Action("follow", rule, Outcome.CANNOT_FOLLOW_SELF, (kind, close_follow, message))


def unfollow(limits: Limits) -> Action:
    """To follow no longer; where all follows are mutual, both."""
    rule = transitions.unfollow(mutual=limits.mutual_approval)
    return Action("unfollow", rule, Outcome.NOT_FOLLOWING, takes=True)


def update_follow(kind: Kind | None, close_follow: bool | None) -> Action:
    """To follow as before, but openly or by a whisper, closely or not."""
    rule = transitions.update_follow(kind, close_follow)
    return Action("updateFollow", rule, Outcome.NOT_FOLLOWING, (kind, close_follow))


def remove_follower(limits: Limits) -> Action:
    """To be followed no longer."""
    rule = transitions.remove_follower(
        whispers=not limits.whispers_hidden, mutual=limits.mutual_approval
    )
    return Action("removeFollower", rule, Outcome.NOT_FOLLOWED, takes=True)


def block(limits: Limits) -> Action:
    """To have nothing to do with somebody."""
    rule = transitions.block(limits.blocks_max)
    return Action("block", rule, Outcome.CANNOT_DO_TO_SELF, takes=True)


def unblock() -> Action:
    """To end a block."""
    return Action("unblock", transitions.unblock(), Outcome.NOT_BLOCKED)


def mute(until: Millis | None) -> Action:
    """To hear nothing of somebody, for good or `until` a date."""
    return Action("mute", transitions.mute(until), Outcome.CANNOT_DO_TO_SELF, (until,))


def unmute() -> Action:
    """To end a mute."""
    return Action("unmute", transitions.unmute(), Outcome.NOT_MUTED)


def accept_request(limits: Limits) -> Action:
    """To grant a request; where all follows are mutual, both follow."""
    rule = transitions.accept_request(
        limits.following_max, whispers=not limits.whispers_hidden, mutual=limits.mutual_approval
    )
    return Action("acceptRequest", rule, Outcome.NO_REQUEST)


def decline_request() -> Action:
    """To refuse a request."""
    return Action("declineRequest", transitions.decline_request(), Outcome.NO_REQUEST, takes=True)


def cancel_request() -> Action:
    """To take a request back."""
    return Action("cancelRequest", transitions.cancel_request(), Outcome.NO_REQUEST, takes=True)


def dismiss() -> Action:
    """To be shown somebody as a suggestion no more."""
    return Action("dismiss", transitions.dismiss(), Outcome.CANNOT_DO_TO_SELF)


def undo(limits: Limits, receipt_id: UUID, taken: Taken) -> Action:
    """To give back, once, what the change of a receipt took."""
    rule = transitions.undo(limits.following_max, taken, whispers=not limits.whispers_hidden)
    token = undo_token(receipt_id)
    return Action(UNDO, rule, Outcome.CANNOT_UNDO, (token,), spends=receipt_id)
