"""The mutations of follow requests. Decides nothing."""

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

_INPUT = strawberry.argument(description="To whom, how, and what to give back.")


@strawberry.type
class RequestMutations:
    """A part of the mutation root; no type of the API itself."""

    @strawberry.mutation(description="The viewer lets a user follow them who has asked to.")
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
        description="The viewer drops a user's request, without telling them why. It can be undone "
        "for some minutes."
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
        description="The viewer takes back their request to follow a user. It can be undone for "
        "some minutes."
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
