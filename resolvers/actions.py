"""The actions of a viewer on another user, with the limits of this gateway."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from uuid import UUID, uuid4

from graph import rules
from graph.decision_types import Decision, PairState, Rule
from graph.edge import Kind, Millis, UserId
from graph.outcome import REJECTIONS, Outcome
from graph.receipt import Receipt, UndoRecord, digest_of, undo_token
from graph.undo import undo as undo_rule
from graph.undo import undo_record
from resolvers.policy import Policy

UNDO = "undo"

WITHOUT_RECEIPT_IN_LISTS = frozenset(
    {Outcome.RATE_LIMITED, Outcome.ACCOUNT_NOT_ACTIVE, Outcome.IDEMPOTENCY_KEY_REUSED}
)
"""For a change in a list: the rejections for which no receipt is written. The rate limit bounds how
many receipts a user can write, and an erasure deletes the receipts of an account only once. A
reused key has the receipt of another request."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action on any target."""

    name: str
    rule: Rule
    to_self: Outcome
    """The outcome if the target is the actor."""
    arguments: tuple[Hashable, ...] = ()
    """Two actions are the same if their names and arguments are."""
    can_undo: bool = False
    """Whether an undo can restore what the action ends."""
    consumes: UUID | None = None
    """The actor's receipt that an undo consumes."""
    if_version: str | None = None
    """The version that the relation must have: see `graph.relation_version`."""
    without_receipt: frozenset[Outcome] = REJECTIONS
    """The outcomes that have no receipt: a repeat of the request tries the action again."""
    list_digest: bytes | None = None
    """The digest of the request, if the action is one of its changes."""

    def in_list(self, list_digest: bytes | None = None) -> "Action":
        """The action as one of many changes of a request with this digest.

        A repeat of the request returns a stored rejection instead of trying again, because the
        later changes of the same request have been made since. Only the outcomes in
        `WITHOUT_RECEIPT_IN_LISTS` are tried again.
        """
        return replace(self, without_receipt=WITHOUT_RECEIPT_IN_LISTS, list_digest=list_digest)

    def digest(self, target: UserId) -> bytes:
        """A digest of the request to apply the action to `target`."""
        return self.list_digest or self._own_digest(target)

    def is_of(self, receipt: Receipt, target: UserId) -> bool:
        """Whether a receipt is of the request to apply the action to `target`."""
        # In 0.1.0, the receipt of a change in a list has the digest of this change alone.
        digest = receipt.digest
        return digest == self.digest(target) or digest == self._own_digest(target)

    def _own_digest(self, target: UserId) -> bytes:
        return digest_of(self.name, target, *self.arguments, *digest_part_of(self.if_version))

    def with_receipt(
        self, target: UserId, key: UUID | None, state: PairState, decision: Decision
    ) -> Decision:
        """The decision with the receipt to write, if the change can be undone or the request has a
        `key`, and with the receipt that an undo consumes. Neither after an outcome in
        `without_receipt`.
        """
        record = undo_record(state, decision) if self.can_undo and decision.steps else None
        consumes = self.consumes if decision.steps else None
        if decision.outcome in self.without_receipt or not (record or key or consumes):
            return decision
        receipt = None
        if record or key:
            receipt = Receipt(key or uuid4(), self.digest(target), decision.outcome, record)
        return replace(decision, receipt=receipt, consumes=consumes)


def digest_part_of(if_version: str | None) -> tuple[str, ...]:
    """The part of a request's digest that stands for `if_version`."""
    return () if if_version is None else (if_version,)


def follow(
    policy: Policy,
    kind: Kind = Kind.FOLLOW,
    *,
    close_follow: bool = False,
    notify: bool = False,
    message: str | None = None,
) -> Action:
    """Follow publicly or by a whisper. A protected user gets a request with `message`."""
    mutual = policy.mutual_approval
    rule = rules.follow(
        policy.following_max,
        kind,
        close_follow=close_follow,
        notify=notify,
        message=message,
        mutual=mutual,
    )
    # An omitted argument is not in the digest, as in releases that do not have the argument.
    new_arguments = ("notify",) if notify else ()
    return Action(
        "follow", rule, Outcome.CANNOT_FOLLOW_SELF, (kind, close_follow, message, *new_arguments)
    )


def unfollow(policy: Policy) -> Action:
    """End the follow; if all follows are mutual, both directions."""
    rule = rules.unfollow(mutual=policy.mutual_approval)
    return Action("unfollow", rule, Outcome.NOT_FOLLOWING, can_undo=True)


def update_follow(
    kind: Kind | None, close_follow: bool | None, notify: bool | None = None
) -> Action:
    """Make a follow public or a whisper, close or not, with notifications or not."""
    rule = rules.update_follow(kind, close_follow, notify)
    new_arguments = () if notify is None else (notify,)
    return Action("updateFollow", rule, Outcome.NOT_FOLLOWING, (kind, close_follow, *new_arguments))


def remove_follower(policy: Policy) -> Action:
    """End the target's follow of the actor."""
    rule = rules.remove_follower(whispers=not policy.whispers_hidden, mutual=policy.mutual_approval)
    return Action("removeFollower", rule, Outcome.NOT_FOLLOWED, can_undo=True)


def block(policy: Policy) -> Action:
    """Block the target and end all follows and requests between the two."""
    rule = rules.block(policy.blocks_max)
    return Action("block", rule, Outcome.CANNOT_DO_TO_SELF, can_undo=True)


def unblock() -> Action:
    """End a block."""
    return Action("unblock", rules.unblock(), Outcome.NOT_BLOCKED)


def mute(until: Millis | None) -> Action:
    """Mute the target, without an end or `until` a date."""
    return Action("mute", rules.mute(until), Outcome.CANNOT_DO_TO_SELF, (until,))


def unmute() -> Action:
    """End a mute."""
    return Action("unmute", rules.unmute(), Outcome.NOT_MUTED)


def accept_request(policy: Policy) -> Action:
    """Accept a request; if all follows are mutual, also follow back."""
    rule = rules.accept_request(
        policy.following_max, whispers=not policy.whispers_hidden, mutual=policy.mutual_approval
    )
    return Action("acceptRequest", rule, Outcome.NO_REQUEST)


def decline_request() -> Action:
    """Decline a request."""
    return Action("declineRequest", rules.decline_request(), Outcome.NO_REQUEST, can_undo=True)


def cancel_request() -> Action:
    """Cancel the actor's own request."""
    return Action("cancelRequest", rules.cancel_request(), Outcome.NO_REQUEST, can_undo=True)


def dismiss() -> Action:
    """Never suggest the target to the actor again."""
    return Action("dismiss", rules.dismiss(), Outcome.CANNOT_DO_TO_SELF)


def undo(policy: Policy, receipt_id: UUID, record: UndoRecord) -> Action:
    """Restore, once, what the change of a receipt ended."""
    rule = undo_rule(
        policy.following_max,
        record,
        whispers=not policy.whispers_hidden,
        mutual=policy.mutual_approval,
    )
    token = undo_token(receipt_id)
    return Action(UNDO, rule, Outcome.CANNOT_UNDO, (token,), consumes=receipt_id)
