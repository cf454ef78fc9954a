"""The results of mutations that change relationships, as GraphQL types."""

from enum import Enum

import strawberry

from schema.outcomes import (
    AcceptFollowRequestOutcome,
    BlockUserOutcome,
    CancelFollowRequestOutcome,
    ChangeRelationshipsOutcome,
    DeclineFollowRequestOutcome,
    DismissSuggestionOutcome,
    FollowUserOutcome,
    MuteUserOutcome,
    RelationshipOutcome,
    RemoveFollowerOutcome,
    UnblockUserOutcome,
    UndoRelationshipChangeOutcome,
    UnfollowUserOutcome,
    UnmuteUserOutcome,
    UpdateFollowOutcome,
)
from schema.relation import Relation
from schema.user import User
from schema.user_error import UserError
from schema.viewer import Viewer

OUTCOME = "What the mutation did, or which state was already in effect."
CHANGED = "Whether this changed anything."
USER_ERRORS = "Why the mutation was rejected. Empty if it was not."
CLIENT_MUTATION_ID = "The `clientMutationId` of the input."
CONSISTENCY = (
    "A token for the argument `atLeastAsFresh` or the header `X-Consistency-Token`: the response "
    "to a request with this token includes the change. Other users can use the token too. Null if "
    "the mutation was rejected, or no token is available."
)


@strawberry.type
class ChangeResult:
    """The fields of the result of every change; not a type of the API."""

    changed: bool = strawberry.field(description=CHANGED)
    relation: Relation | None = strawberry.field(
        description="The relationship between the viewer and the user after this mutation. Null "
        "if the input is invalid."
    )
    user: User | None = strawberry.field(
        description="The other user. Null if the input is invalid."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    undo_token: str | None = strawberry.field(
        description="A token for `undoRelationshipChange`. Null if there is nothing to undo. Only "
        "the viewer can use it, for 15 minutes by default."
    )


@strawberry.interface(
    description="The result of a mutation that changes the relationship between the viewer and "
    "another user. Each implementation also has an `outcome`, whose values depend on the mutation."
)
class RelationshipPayload(ChangeResult):
    viewer: Viewer | None = strawberry.field(
        description="The user who makes the request. Null only beside an error."
    )
    consistency_token: str | None = strawberry.field(default=None, description=CONSISTENCY)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `followUser`.")
class FollowUserPayload(RelationshipPayload):
    outcome: FollowUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `unfollowUser`.")
class UnfollowUserPayload(RelationshipPayload):
    outcome: UnfollowUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `updateFollow`.")
class UpdateFollowPayload(RelationshipPayload):
    outcome: UpdateFollowOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `removeFollower`.")
class RemoveFollowerPayload(RelationshipPayload):
    outcome: RemoveFollowerOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `blockUser`.")
class BlockUserPayload(RelationshipPayload):
    outcome: BlockUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `unblockUser`.")
class UnblockUserPayload(RelationshipPayload):
    outcome: UnblockUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `muteUser`.")
class MuteUserPayload(RelationshipPayload):
    outcome: MuteUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `unmuteUser`.")
class UnmuteUserPayload(RelationshipPayload):
    outcome: UnmuteUserOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `acceptFollowRequest`.")
class AcceptFollowRequestPayload(RelationshipPayload):
    outcome: AcceptFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `declineFollowRequest`.")
class DeclineFollowRequestPayload(RelationshipPayload):
    outcome: DeclineFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `cancelFollowRequest`.")
class CancelFollowRequestPayload(RelationshipPayload):
    outcome: CancelFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `dismissSuggestion`.")
class DismissSuggestionPayload(RelationshipPayload):
    outcome: DismissSuggestionOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `undoRelationshipChange`.")
class UndoRelationshipChangePayload(RelationshipPayload):
    relation: Relation | None = strawberry.field(
        description="The relationship between the viewer and the user after this mutation. Null "
        "if the input is invalid or `undoToken` is unknown."
    )
    user: User | None = strawberry.field(
        description="The other user. Null if the input is invalid or `undoToken` is unknown."
    )
    outcome: UndoRelationshipChangeOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of one change of `changeRelationships`.")
class RelationshipChange(ChangeResult):
    outcome: Enum = strawberry.field(description=OUTCOME, graphql_type=RelationshipOutcome)


@strawberry.type(description="The result of `changeRelationships`.")
class ChangeRelationshipsPayload:
    outcome: ChangeRelationshipsOutcome = strawberry.field(
        description="Whether all changes succeeded."
    )
    changed: bool = strawberry.field(description="Whether at least one change had an effect.")
    changes: list[RelationshipChange | None] = strawberry.field(
        description="One result for each change of the input, in order. An entry is null beside "
        "an error if the service was unavailable: send that change again. Empty if the input as a "
        "whole was rejected."
    )
    viewer: Viewer | None = strawberry.field(
        description="The user who makes the request. Null only beside an error."
    )
    user_errors: list[UserError] = strawberry.field(
        description="Why the input as a whole was rejected. Empty if it was not. The errors of "
        "one change are in its entry of `changes`."
    )
    consistency_token: str | None = strawberry.field(
        default=None, description=f"{CONSISTENCY} The token is for all changes."
    )
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)
