"""The mutations of follow requests."""

from typing import Annotated

import strawberry

from schema.changing import changed
from schema.context import Info
from schema.inputs import (
    AcceptFollowRequestInput,
    CancelFollowRequestInput,
    DeclineFollowRequestInput,
    RelationshipAction,
)
from schema.outcomes import (
    AcceptFollowRequestOutcome,
    CancelFollowRequestOutcome,
    DeclineFollowRequestOutcome,
)
from schema.payload import (
    AcceptFollowRequestPayload,
    CancelFollowRequestPayload,
    DeclineFollowRequestPayload,
)

_INPUT = strawberry.argument(description="The other user, and options.")


@strawberry.type
class RequestMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(description="Accepts a user's request to follow the viewer.")
    async def accept_follow_request(
        self,
        info: Info,
        input: Annotated[AcceptFollowRequestInput, _INPUT],  # noqa: A002
    ) -> AcceptFollowRequestPayload | None:
        return await changed(
            info,
            input,
            RelationshipAction.ACCEPT_REQUEST,
            AcceptFollowRequestPayload,
            AcceptFollowRequestOutcome,
        )

    @strawberry.mutation(
        description="Declines a user's request to follow the viewer, without giving the user a "
        "reason. Can be undone with the `undoToken`."
    )
    async def decline_follow_request(
        self,
        info: Info,
        input: Annotated[DeclineFollowRequestInput, _INPUT],  # noqa: A002
    ) -> DeclineFollowRequestPayload | None:
        return await changed(
            info,
            input,
            RelationshipAction.DECLINE_REQUEST,
            DeclineFollowRequestPayload,
            DeclineFollowRequestOutcome,
        )

    @strawberry.mutation(
        description="Cancels the viewer's request to follow a user. Can be undone with the "
        "`undoToken`."
    )
    async def cancel_follow_request(
        self,
        info: Info,
        input: Annotated[CancelFollowRequestInput, _INPUT],  # noqa: A002
    ) -> CancelFollowRequestPayload | None:
        return await changed(
            info,
            input,
            RelationshipAction.CANCEL_REQUEST,
            CancelFollowRequestPayload,
            CancelFollowRequestOutcome,
        )
