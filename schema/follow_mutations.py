"""The mutations of follows."""

from typing import Annotated

import strawberry

from schema.changing import changed
from schema.context import Info
from schema.inputs import (
    FollowUserInput,
    RelationshipAction,
    RemoveFollowerInput,
    UnfollowUserInput,
    UpdateFollowInput,
)
from schema.outcomes import (
    FollowUserOutcome,
    RemoveFollowerOutcome,
    UnfollowUserOutcome,
    UpdateFollowOutcome,
)
from schema.payload import (
    FollowUserPayload,
    RemoveFollowerPayload,
    UnfollowUserPayload,
    UpdateFollowPayload,
)

_INPUT = strawberry.argument(description="The other user, and options.")


@strawberry.type
class FollowMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Follows a user, or sends a follow request if the user approves their "
        "followers. The viewer sees the change immediately."
    )
    async def follow_user(
        self,
        info: Info,
        input: Annotated[FollowUserInput, _INPUT],  # noqa: A002
    ) -> FollowUserPayload | None:
        return await changed(
            info, input, RelationshipAction.FOLLOW, FollowUserPayload, FollowUserOutcome
        )

    @strawberry.mutation(description="Unfollows a user. Can be undone with the `undoToken`.")
    async def unfollow_user(
        self,
        info: Info,
        input: Annotated[UnfollowUserInput, _INPUT],  # noqa: A002
    ) -> UnfollowUserPayload | None:
        return await changed(
            info, input, RelationshipAction.UNFOLLOW, UnfollowUserPayload, UnfollowUserOutcome
        )

    @strawberry.mutation(
        description="Changes the viewer's follow: its visibility, and whether it is a close "
        "follow. The date of the follow stays the same."
    )
    async def update_follow(
        self,
        info: Info,
        input: Annotated[UpdateFollowInput, _INPUT],  # noqa: A002
    ) -> UpdateFollowPayload | None:
        return await changed(
            info, input, RelationshipAction.UPDATE_FOLLOW, UpdateFollowPayload, UpdateFollowOutcome
        )

    @strawberry.mutation(
        description="Removes a follower of the viewer, without giving the follower a reason. Can "
        "be undone with the `undoToken`."
    )
    async def remove_follower(
        self,
        info: Info,
        input: Annotated[RemoveFollowerInput, _INPUT],  # noqa: A002
    ) -> RemoveFollowerPayload | None:
        return await changed(
            info,
            input,
            RelationshipAction.REMOVE_FOLLOWER,
            RemoveFollowerPayload,
            RemoveFollowerOutcome,
        )
