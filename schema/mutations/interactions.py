"""The mutation that records interactions between users, for services."""

import time
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import enum_value

from engine import length_of, weighed
from graph import affinity
from graph.affinity import Interaction
from graph.edge import Millis, Pair
from graph.errors import BadInput
from graph.outcome import Outcome
from resolvers.audit import require_service
from resolvers.interactions import Result, record_interactions
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations.payload import (
    CLIENT_MUTATION_ID,
    OUTCOME,
    USER_ERRORS,
    RepeatableInput,
    outcome_of,
)
from schema.user_errors import UserError, user_errors

COUNT_MAX = 1_000
"""The maximum `count` of one interaction."""
CLOCK_SKEW_MAX_MS = 300_000
"""How far a service's clock may be ahead. A later date would outweigh all later interactions."""


@strawberry.enum(description="The kind of an interaction.")
class InteractionKind(Enum):
    VIEWED_PROFILE = enum_value(
        "VIEWED_PROFILE", description="Viewed the profile of the other user."
    )
    LIKED = enum_value("LIKED", description="Liked content of the other user.")
    COMMENTED = enum_value("COMMENTED", description="Commented on content of the other user.")
    MENTIONED = enum_value("MENTIONED", description="Mentioned the other user.")
    SHARED = enum_value("SHARED", description="Shared content of the other user.")
    MESSAGED = enum_value("MESSAGED", description="Sent a direct message to the other user.")


@strawberry.input(description="An interaction between two users.")
class InteractionInput:
    from_: strawberry.ID = strawberry.field(
        name="from", description="The id of the user who interacted."
    )
    to: strawberry.ID = strawberry.field(
        description="The id of the other user. Interactions of a user with themselves are ignored."
    )
    kind: InteractionKind = strawberry.field(description="The kind of the interaction.")
    at: datetime | None = strawberry.field(
        default=None,
        description="When it happened; now by default. It must not be before 1970 or more than "
        "five minutes in the future.",
    )
    count: int = strawberry.field(
        default=1, description="How many times it happened: between 1 and 1,000."
    )


@strawberry.input(description="Input of `recordInteractions`.")
class RecordInteractionsInput(RepeatableInput):
    interactions: list[InteractionInput] = strawberry.field(
        description="Up to 500 interactions, in any order."
    )


@strawberry.enum(description="The outcome of `recordInteractions`.")
class RecordInteractionsOutcome(Enum):
    RECORDED = enum_value("RECORDED", description="The interactions are recorded.")
    REJECTED = enum_value(
        "REJECTED", description="Nothing was recorded. `userErrors` gives the reason."
    )


@strawberry.type(description="The result of `recordInteractions`.")
class RecordInteractionsPayload:
    outcome: RecordInteractionsOutcome = strawberry.field(description=OUTCOME)
    changed: bool = strawberry.field(description="Whether this request recorded anything.")
    recorded: int = strawberry.field(
        description="The number of recorded interactions. Interactions of users with themselves "
        "and of deleted accounts are not recorded. A repeated request with the same idempotency "
        "key returns the number of the first one."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type
class InteractionMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        metadata=weighed(page=length_of("input.interactions", maximum=500), entry=50),
        description="Records interactions between users, all or none. They influence the order of "
        "suggestions and of closest friends, and cannot be read. Without an idempotency key, a "
        "repeated request is recorded again. Only for services: other callers get the error "
        "`FORBIDDEN`.",
    )
    async def record_interactions(
        self,
        info: Info,
        input: Annotated[
            RecordInteractionsInput,
            strawberry.argument(description="The interactions, and options."),
        ],
    ) -> RecordInteractionsPayload | None:
        scope = scope_of(info)
        require_service(scope, "recordInteractions", interactions=len(input.interactions))
        try:
            key = input.key
            given = _interactions(input.interactions, scope.policy.interactions_max)
        except BadInput as bad:
            result = Result(Outcome.INVALID_INPUT, 0, invalid=bad)
        else:
            result = await record_interactions(scope, given, key, sent=input.interactions)
        return RecordInteractionsPayload(
            outcome=outcome_of(result, RecordInteractionsOutcome),
            changed=result.is_changed,
            recorded=result.recorded,
            user_errors=user_errors(result),
            client_mutation_id=input.echo,
        )


def _interactions(given: Sequence[InteractionInput], maximum: int) -> list[Interaction]:
    arguments.at_most("interactions", given, maximum)
    now = Millis(int(time.time() * 1000))
    return [_interaction(f"interactions.{i}", one, now) for i, one in enumerate(given)]


def _interaction(argument: str, given: InteractionInput, now: Millis) -> Interaction:
    if not 1 <= given.count <= COUNT_MAX:
        message = f"must be between 1 and {COUNT_MAX}, got {given.count}."
        raise BadInput(f"{argument}.count", message)
    pair = Pair(
        arguments.user_id(f"{argument}.from", given.from_),
        arguments.user_id(f"{argument}.to", given.to),
    )
    at = now if given.at is None else _millis(f"{argument}.at", given.at, now)
    return Interaction(pair, affinity.InteractionKind[given.kind.name], at, given.count)


def _millis(argument: str, at: datetime, now: Millis) -> Millis:
    """The date of an interaction. Raises BadInput if it has no time zone or is out of range."""
    millis = Millis(int(arguments.zoned(argument, at).timestamp() * 1000))
    if not 0 <= millis <= now + CLOCK_SKEW_MAX_MS:
        raise BadInput(argument, "must not be before 1970 or more than five minutes in the future.")
    return millis
