"""What writes give. Decides nothing, and reads nothing."""

from enum import Enum

import strawberry

from schema.outcomes import (
    AcceptFollowRequestOutcome,
    BlockUserOutcome,
    CancelFollowRequestOutcome,
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

AS_FRESH = (
    "What `atLeastAsFresh` and the header `X-Consistency-Token` take, to make any answer at least "
    "as fresh as what this has changed, or has found to be so already; null if it was refused. "
    "Anybody may use it."
)


@strawberry.type
class Told:
    """What is told of every change; no type of the API itself."""

    changed: bool = strawberry.field(description="Whether anything is different now.")
    relation: Relation | None = strawberry.field(
        description="How the viewer stands to the user now, as the viewer may know it; null if "
        "it is not known which user is meant."
    )
    user: User | None = strawberry.field(description="The user whom this was about.")
    user_errors: list[UserError] = strawberry.field(
        description="Why nothing was changed; empty if the viewer has what they asked for."
    )
    undo_token: str | None = strawberry.field(
        description="What `undoRelationshipChange` takes to give back what this took; null if "
        "there is nothing to undo. For the viewer alone, and for some minutes."
    )


@strawberry.type
class Payload(Told):
    """What all payloads of one change have in common; no type of the API itself."""

    viewer: Viewer = strawberry.field(description="Who asked for it.")
    consistency_token: str | None = strawberry.field(default=None, description=AS_FRESH)
    client_mutation_id: str | None = strawberry.field(description="What the input held.")


@strawberry.type(description="What became of a `followUser`.")
class FollowUserPayload(Payload):
    outcome: FollowUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `unfollowUser`.")
class UnfollowUserPayload(Payload):
    outcome: UnfollowUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `updateFollow`.")
class UpdateFollowPayload(Payload):
    outcome: UpdateFollowOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `removeFollower`.")
class RemoveFollowerPayload(Payload):
    outcome: RemoveFollowerOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `blockUser`.")
class BlockUserPayload(Payload):
    outcome: BlockUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `unblockUser`.")
class UnblockUserPayload(Payload):
    outcome: UnblockUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `muteUser`.")
class MuteUserPayload(Payload):
    outcome: MuteUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `unmuteUser`.")
class UnmuteUserPayload(Payload):
    outcome: UnmuteUserOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `acceptFollowRequest`.")
class AcceptFollowRequestPayload(Payload):
    outcome: AcceptFollowRequestOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `declineFollowRequest`.")
class DeclineFollowRequestPayload(Payload):
    outcome: DeclineFollowRequestOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `cancelFollowRequest`.")
class CancelFollowRequestPayload(Payload):
    outcome: CancelFollowRequestOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `dismissSuggestion`.")
class DismissSuggestionPayload(Payload):
    outcome: DismissSuggestionOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of an `undoRelationshipChange`.")
class UndoRelationshipChangePayload(Payload):
    outcome: UndoRelationshipChangeOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of one of many changes.")
class RelationshipChange(Told):
    outcome: Enum = strawberry.field(
        description="What became of it.", graphql_type=RelationshipOutcome
    )


@strawberry.type(description="What became of a `changeRelationships`.")
class ChangeRelationshipsPayload:
    changes: list[RelationshipChange | None] = strawberry.field(
        description="One for each of the input's, in their order. Null, with an error, where a "
        "part of the service was unavailable: that one may be made again."
    )
    viewer: Viewer = strawberry.field(description="Who asked for it.")
    user_errors: list[UserError] = strawberry.field(
        description="What is wrong with the input as a whole: then nothing was changed."
    )
    consistency_token: str | None = strawberry.field(
        default=None, description=f"{AS_FRESH} One for all changes."
    )
    client_mutation_id: str | None = strawberry.field(description="What the input held.")
