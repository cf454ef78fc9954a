"""The results of mutations that change relationships, as types."""

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

OUTCOME = "What the mutation did, or found to be in effect already."
CHANGED = "Whether the mutation changed anything."
USER_ERRORS = "Why the change was rejected; empty if it was not."
CLIENT_MUTATION_ID = "The `clientMutationId` of the input."
AS_FRESH = (
    "A token for `atLeastAsFresh` or the header `X-Consistency-Token`: an answer to a request with "
    "it includes this change. Null if the change was rejected. Not secret: other users may use it."
)


@strawberry.type
class ChangeResult:
    """The fields of every result of a change; not a type of the API."""

    changed: bool = strawberry.field(description=CHANGED)
    relation: Relation | None = strawberry.field(
        description="The relation between the viewer and the user after this mutation. Null if "
        "the user id is invalid."
    )
    user: User | None = strawberry.field(
        description="The other user. Null if the user id is invalid."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    undo_token: str | None = strawberry.field(
        description="A token for `undoRelationshipChange`, which restores what this change "
        "removed. Null if there is nothing to undo. Valid for some minutes, for the viewer only."
    )


@strawberry.interface(
    description="The result of a mutation that changes what the viewer and one other user are to "
    "each other. Each result also has an `outcome`, whose values depend on the mutation."
)
class RelationshipPayload(ChangeResult):
    viewer: Viewer | None = strawberry.field(description="The user who made the request.")
    consistency_token: str | None = strawberry.field(default=None, description=AS_FRESH)
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
    outcome: UndoRelationshipChangeOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of one change of `changeRelationships`.")
class RelationshipChange(ChangeResult):
    outcome: Enum = strawberry.field(description=OUTCOME, graphql_type=RelationshipOutcome)


@strawberry.type(description="The result of `changeRelationships`.")
class ChangeRelationshipsPayload:
    outcome: ChangeRelationshipsOutcome = strawberry.field(
        description="Whether all changes, some or none were made or already in effect."
    )
    changed: bool = strawberry.field(description="Whether at least one change changed anything.")
    changes: list[RelationshipChange | None] = strawberry.field(
        description="One result for each change of the input, in order. Null, beside an error, "
        "where a part of the service was unavailable: send that change again."
    )
    viewer: Viewer | None = strawberry.field(description="The user who made the request.")
    user_errors: list[UserError] = strawberry.field(
        description="Why the input as a whole was rejected; empty if it was not."
    )
    consistency_token: str | None = strawberry.field(
        default=None, description=f"{AS_FRESH} One for all changes."
    )
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)
