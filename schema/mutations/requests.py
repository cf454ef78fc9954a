"""The mutations of follow requests."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import enum_value

from resolvers import actions
from resolvers.actions import Action
from resolvers.policy import Policy
from schema.context import Info
from schema.mutations.payload import (
    OUTCOME,
    REJECTED,
    USER_INPUT,
    RelationshipPayload,
    UserInput,
    change_relationship,
)

NO_REQUEST = enum_value("NO_REQUEST", description="There is no pending request. Nothing changed.")


@strawberry.enum(description="The outcome of `acceptFollowRequest`.")
class AcceptFollowRequestOutcome(Enum):
    REQUEST_ACCEPTED = enum_value(
        "REQUEST_ACCEPTED", description="The user now follows the viewer."
    )
    NO_REQUEST = NO_REQUEST
    REJECTED = REJECTED


@strawberry.input(description="Input of `acceptFollowRequest`.")
class AcceptFollowRequestInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.accept_request(policy)


@strawberry.type(description="The result of `acceptFollowRequest`.")
class AcceptFollowRequestPayload(RelationshipPayload):
    outcome: AcceptFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `declineFollowRequest`.")
class DeclineFollowRequestOutcome(Enum):
    REQUEST_DECLINED = enum_value("REQUEST_DECLINED", description="The request was declined.")
    NO_REQUEST = NO_REQUEST
    REJECTED = REJECTED


@strawberry.input(description="Input of `declineFollowRequest`.")
class DeclineFollowRequestInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.decline_request()


@strawberry.type(description="The result of `declineFollowRequest`.")
class DeclineFollowRequestPayload(RelationshipPayload):
    outcome: DeclineFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.enum(description="The outcome of `cancelFollowRequest`.")
class CancelFollowRequestOutcome(Enum):
    REQUEST_CANCELLED = enum_value("REQUEST_CANCELLED", description="The request was cancelled.")
    NO_REQUEST = NO_REQUEST
    REJECTED = REJECTED


@strawberry.input(description="Input of `cancelFollowRequest`.")
class CancelFollowRequestInput(UserInput):
    def action(self, policy: Policy) -> Action:
        return actions.cancel_request()


@strawberry.type(description="The result of `cancelFollowRequest`.")
class CancelFollowRequestPayload(RelationshipPayload):
    outcome: CancelFollowRequestOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class RequestMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(description="Accepts a user's request to follow the viewer.")
    async def accept_follow_request(
        self, info: Info, input: Annotated[AcceptFollowRequestInput, USER_INPUT]
    ) -> AcceptFollowRequestPayload | None:
        return await change_relationship(
            info, input, AcceptFollowRequestPayload, AcceptFollowRequestOutcome
        )

    @strawberry.mutation(
        description="Declines a user's request to follow the viewer, without giving the user a "
        "reason. Can be undone with the `undoToken`."
    )
    async def decline_follow_request(
        self, info: Info, input: Annotated[DeclineFollowRequestInput, USER_INPUT]
    ) -> DeclineFollowRequestPayload | None:
        return await change_relationship(
            info, input, DeclineFollowRequestPayload, DeclineFollowRequestOutcome
        )

    @strawberry.mutation(
        description="Cancels the viewer's request to follow a user. Can be undone with the "
        "`undoToken`."
    )
    async def cancel_follow_request(
        self, info: Info, input: Annotated[CancelFollowRequestInput, USER_INPUT]
    ) -> CancelFollowRequestPayload | None:
        return await change_relationship(
            info, input, CancelFollowRequestPayload, CancelFollowRequestOutcome
        )
