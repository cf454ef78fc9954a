"""The mutation that makes many changes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Annotated, cast

import strawberry
from strawberry import UNSET, enum_value

from engine import PAGE, length_of, weighed
from graph.edge import UserId
from graph.errors import BadInput, KithError
from graph.outcome import REJECTIONS, Outcome
from graph.receipt import KeyReused
from resolvers import actions, relationship
from resolvers.actions import Action
from resolvers.policy import Policy
from resolvers.relationship import Change, Result
from resolvers.scope import Scope
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations import blocks, follows, requests
from schema.mutations.follows import FollowVisibility
from schema.mutations.payload import (
    CLIENT_MUTATION_ID,
    CONSISTENCY,
    IF_VERSION,
    OUTCOME,
    VIEWER,
    ChangeResult,
    RepeatableInput,
    WriteConsistency,
    consistency_token,
    outcome_of,
    relation_after,
    write_consistency,
)
from schema.relation import FollowNotifications
from schema.rows import ViewerRow
from schema.user_errors import INPUT, UserError, user_errors
from schema.viewer import Viewer
from schema.weights import WRITE


@strawberry.enum(description="An action of `changeRelationships`.")
class RelationshipAction(Enum):
    FOLLOW = enum_value("FOLLOW", description="The same as `followUser`.")
    UNFOLLOW = enum_value("UNFOLLOW", description="The same as `unfollowUser`.")
    UPDATE_FOLLOW = enum_value("UPDATE_FOLLOW", description="The same as `updateFollow`.")
    REMOVE_FOLLOWER = enum_value("REMOVE_FOLLOWER", description="The same as `removeFollower`.")
    BLOCK = enum_value("BLOCK", description="The same as `blockUser`.")
    UNBLOCK = enum_value("UNBLOCK", description="The same as `unblockUser`.")
    MUTE = enum_value("MUTE", description="The same as `muteUser`.")
    UNMUTE = enum_value("UNMUTE", description="The same as `unmuteUser`.")
    ACCEPT_REQUEST = enum_value("ACCEPT_REQUEST", description="The same as `acceptFollowRequest`.")
    DECLINE_REQUEST = enum_value(
        "DECLINE_REQUEST", description="The same as `declineFollowRequest`."
    )
    CANCEL_REQUEST = enum_value("CANCEL_REQUEST", description="The same as `cancelFollowRequest`.")
    DISMISS_SUGGESTION = enum_value(
        "DISMISS_SUGGESTION", description="The same as `dismissSuggestion`."
    )


@strawberry.input(
    description="One change of `changeRelationships`. Fields that its action does not use are "
    "ignored."
)
class RelationshipChangeInput:
    action: RelationshipAction = strawberry.field(description="The action.")
    user_id: strawberry.ID = strawberry.field(description="The id of the other user.")
    visibility: FollowVisibility | None = strawberry.field(
        default=UNSET, description="Who can see the follow. Used by FOLLOW and UPDATE_FOLLOW."
    )
    close_follow: bool | None = strawberry.field(
        default=UNSET,
        description="Whether this is a close follow. Used by FOLLOW and UPDATE_FOLLOW.",
    )
    notify: FollowNotifications | None = strawberry.field(
        default=UNSET,
        description="Whether the viewer asks to be notified. Used by FOLLOW and UPDATE_FOLLOW.",
    )
    message: str | None = strawberry.field(
        default=UNSET,
        description="A message of up to 500 characters, which the follow request shows. Used "
        "by FOLLOW.",
    )
    until: datetime | None = strawberry.field(
        default=UNSET, description="When the mute ends; it must be in the future. Used by MUTE."
    )
    if_version: str | None = strawberry.field(default=UNSET, description=IF_VERSION)

    @property
    def sent(self) -> tuple[object, ...]:
        """The names and values of the fields that were sent and are not null. An idempotency key is
        bound to them, so a field that a later release adds changes nothing while it is omitted."""
        values = vars(self).items()
        return tuple([field for field in values if field[1] is not None and field[1] is not UNSET])

    def change(self, policy: Policy) -> Change:
        """Return the change that the viewer asks for. Raises BadInput."""
        user = arguments.user_id("userId", self.user_id)
        condition = arguments.relation_version("ifVersion", self.if_version)
        return Change(user, replace(self._action(policy), if_version=condition))

    def _action(self, policy: Policy) -> Action:
        match self.action:
            case RelationshipAction.FOLLOW:
                return follows.follow(
                    policy, self.visibility, self.close_follow, self.notify, self.message
                )
            case RelationshipAction.UNFOLLOW:
                return actions.unfollow(policy)
            case RelationshipAction.UPDATE_FOLLOW:
                return follows.update_follow(
                    policy, self.visibility, self.close_follow, self.notify
                )
            case RelationshipAction.REMOVE_FOLLOWER:
                return actions.remove_follower(policy)
            case RelationshipAction.BLOCK:
                return actions.block(policy)
            case RelationshipAction.UNBLOCK:
                return actions.unblock()
            case RelationshipAction.MUTE:
                return blocks.mute(self.until)
            case RelationshipAction.UNMUTE:
                return actions.unmute()
            case RelationshipAction.ACCEPT_REQUEST:
                return actions.accept_request(policy)
            case RelationshipAction.DECLINE_REQUEST:
                return actions.decline_request()
            case RelationshipAction.CANCEL_REQUEST:
                return actions.cancel_request()
            case RelationshipAction.DISMISS_SUGGESTION:
                return actions.dismiss()


@strawberry.input(description="Input of `changeRelationships`.")
class ChangeRelationshipsInput(RepeatableInput):
    changes: list[RelationshipChangeInput] = strawberry.field(
        description="Up to 50 changes. Changes with the same user are made in the given order, "
        "others in parallel."
    )


OUTCOMES: tuple[type[Enum], ...] = (
    follows.FollowUserOutcome,
    follows.UnfollowUserOutcome,
    follows.UpdateFollowOutcome,
    follows.RemoveFollowerOutcome,
    blocks.BlockUserOutcome,
    blocks.UnblockUserOutcome,
    blocks.MuteUserOutcome,
    blocks.UnmuteUserOutcome,
    requests.AcceptFollowRequestOutcome,
    requests.DeclineFollowRequestOutcome,
    requests.CancelFollowRequestOutcome,
    blocks.DismissSuggestionOutcome,
)
"""The outcomes that one change of `changeRelationships` can have."""

_VALUES = {
    value.name: enum_value(value.value, description=value.description)
    for outcomes in OUTCOMES
    for value in outcomes.__strawberry_definition__.values  # type: ignore[attr-defined]
}
RelationshipOutcome: type[Enum] = strawberry.enum(
    cast("type[Enum]", Enum("RelationshipOutcome", _VALUES)),
    description="The outcome of one change of `changeRelationships`.",
)


@strawberry.type(description="The result of one change of `changeRelationships`.")
class RelationshipChange(ChangeResult):
    outcome: Enum = strawberry.field(description=OUTCOME, graphql_type=RelationshipOutcome)


@strawberry.enum(description="The outcome of `changeRelationships` as a whole.")
class ChangeRelationshipsOutcome(Enum):
    COMPLETED = enum_value(
        "COMPLETED", description="Every change was made, or was already in effect."
    )
    PARTIALLY_COMPLETED = enum_value(
        "PARTIALLY_COMPLETED",
        description="At least one change was rejected or failed. The entries of `changes` give "
        "the reasons.",
    )
    REJECTED = enum_value(
        "REJECTED",
        description="No change was made because the input as a whole is invalid. `userErrors` "
        "gives the reason.",
    )


@strawberry.type(description="The result of `changeRelationships`.")
class ChangeRelationshipsPayload:
    outcome: ChangeRelationshipsOutcome = strawberry.field(
        description="Whether all changes succeeded."
    )
    changed: bool = strawberry.field(description="Whether at least one change had an effect.")
    changes: Sequence[RelationshipChange | KithError] = strawberry.field(
        graphql_type=list[RelationshipChange | None],
        metadata=weighed(item=1, size=PAGE),
        description="One result for each change of the input, in order. An entry is null beside "
        "an error if this change, or an earlier one with the same user, failed because the service "
        "was unavailable: repeat the request with its idempotency key, or without a key send these "
        "changes again in the same order. Empty if the input as a whole was rejected.",
    )
    viewer: ViewerRow = strawberry.field(graphql_type=Viewer | None, description=VIEWER)
    user_errors: list[UserError] = strawberry.field(
        description="Why the input as a whole was rejected. Empty if it was not. The errors of "
        "one change are in its entry of `changes`."
    )
    consistency_token: str | None = strawberry.field(
        description=f"{CONSISTENCY} The token is for all changes."
    )
    consistency: WriteConsistency | None = strawberry.field(
        description="When the caller's own requests show all changes. Null if all were rejected."
    )
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type
class ChangeManyMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        metadata=weighed(page=length_of("input.changes", maximum=50), entry=WRITE),
        description="Makes up to 50 changes. Changes with different users succeed or fail "
        "independently. If a change fails with an error, or is rejected with `RATE_LIMITED` or "
        "`ACCOUNT_NOT_ACTIVE`, the later changes with the same user are not made, and have the "
        "same result. If the idempotency key was used with another list of changes, no change is "
        "made. A repeat with the same key and changes returns the first results, also of rejected "
        "changes; it makes only those that failed with an error, or were rejected with "
        "`RATE_LIMITED` or `ACCOUNT_NOT_ACTIVE`, in the given order.",
    )
    async def change_relationships(
        self,
        info: Info,
        input: Annotated[
            ChangeRelationshipsInput, strawberry.argument(description="The changes, and options.")
        ],
    ) -> ChangeRelationshipsPayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        results: list[Result | KithError] = []
        errors: list[UserError] = []
        try:
            key = input.key
            arguments.at_most("changes", input.changes, scope.policy.changes_max)
            results = await _results(scope, input.changes, key)
        except BadInput as bad:
            errors = user_errors(Result(Outcome.INVALID_INPUT, invalid=bad))
        except KeyReused:
            errors = user_errors(Result(Outcome.IDEMPOTENCY_KEY_REUSED))
        completed = [result for result in results if isinstance(result, Result)]
        return ChangeRelationshipsPayload(
            outcome=_outcome_of_all(results, errors),
            changed=any(result.is_changed for result in completed),
            changes=[
                _change_payload(viewer, place, result) for place, result in enumerate(results)
            ],
            viewer=ViewerRow(viewer),
            user_errors=errors,
            consistency_token=consistency_token(completed),
            consistency=write_consistency(completed),
            client_mutation_id=input.echo,
        )


async def _results(
    scope: Scope, given: Sequence[RelationshipChangeInput], key: str | None
) -> list[Result | KithError]:
    """Make each change that is valid. Return a result or an error for each of `given`.

    Raises:
        KeyReused: the idempotency key was used with other changes.
    """
    changes: dict[int, Change] = {}
    results: dict[int, Result | KithError] = {}
    for place, one in enumerate(given):
        try:
            changes[place] = one.change(scope.policy)
        except BadInput as bad:
            results[place] = Result(Outcome.INVALID_INPUT, invalid=bad)
    sent = [] if key is None else [one.sent for one in given]
    results |= await relationship.change_many(scope, changes, key, sent)
    return [results[place] for place in range(len(given))]


def _outcome_of_all(
    results: Sequence[Result | KithError], errors: Sequence[UserError]
) -> ChangeRelationshipsOutcome:
    if errors:
        return ChangeRelationshipsOutcome.REJECTED
    if all(isinstance(one, Result) and one.outcome not in REJECTIONS for one in results):
        return ChangeRelationshipsOutcome.COMPLETED
    return ChangeRelationshipsOutcome.PARTIALLY_COMPLETED


def _change_payload(
    viewer: UserId, place: int, result: Result | KithError
) -> RelationshipChange | KithError:
    if isinstance(result, KithError):
        return result
    is_reused = result.outcome is Outcome.IDEMPOTENCY_KEY_REUSED  # the key is of the whole list
    path = INPUT if is_reused else (*INPUT, "changes", str(place))
    return RelationshipChange(
        outcome=outcome_of(result, RelationshipOutcome),
        changed=result.is_changed,
        relation=relation_after(viewer, result),
        user=result.target,
        user_errors=user_errors(result, path),
        undo_token=result.undo_token,
    )
