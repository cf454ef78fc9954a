"""The mutations of follows. Decides nothing."""

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

_INPUT = strawberry.argument(description="To whom, how, and what to give back.")


@strawberry.type
class FollowMutations:
    """A part of the mutation root; no type of the API itself."""

    @strawberry.mutation(
        description="The viewer follows a user, or asks to: at once seen by the viewer, everywhere."
    )
    async def follow_user(
        self,
        info: Info,
        input: Annotated[FollowUserInput, _INPUT],  # noqa: A002
    ) -> FollowUserPayload | None:
        return await changed(
            info, input, RelationshipAction.FOLLOW, FollowUserPayload, FollowUserOutcome
        )

    @strawberry.mutation(
        description="The viewer stops following a user. It can be undone for some minutes."
    )
    async def unfollow_user(
        self,
        info: Info,
        input: Annotated[UnfollowUserInput, _INPUT],  # noqa: A002
    ) -> UnfollowUserPayload | None:
        return await changed(
            info, input, RelationshipAction.UNFOLLOW, UnfollowUserPayload, UnfollowUserOutcome
        )

    @strawberry.mutation(
        description="The viewer's follow becomes open or a whisper, close or not. Its date stays."
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
        description="A user stops following the viewer, and is not told why. It can be undone for "
        "some minutes."
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
