"""Recording what users do to each other: a mutation for services. Knows no weights."""

import time
from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated

import strawberry

from graph import affinity
from graph.affinity import Interaction
from graph.edge import Millis, Pair
from graph.errors import BadInput
from resolvers.interactions import record_interactions
from schema import arguments
from schema.context import Info, scope_of
from schema.inputs import RepeatableInput
from schema.payload import CLIENT_MUTATION_ID, OUTCOME, USER_ERRORS
from schema.requests import idempotency_key
from schema.told import outcome_of, refusal_of
from schema.user_error import UserError

COUNT_MAX = 1_000
"""More of one kind at one moment is a mistake of the caller's."""
CLOCKS_APART_MS = 300_000
"""How far a service's clock may be ahead: a date in the future would outweigh all that comes."""


@strawberry.enum(description="What one user did to another.")
class InteractionKind(Enum):
    VIEWED_PROFILE = strawberry.enum_value("VIEWED_PROFILE", description="Looked at who they are.")
    LIKED = strawberry.enum_value("LIKED", description="Liked something of theirs.")
    COMMENTED = strawberry.enum_value("COMMENTED", description="Wrote about something of theirs.")
    MENTIONED = strawberry.enum_value("MENTIONED", description="Named them in something.")
    SHARED = strawberry.enum_value("SHARED", description="Passed something of theirs on.")
    MESSAGED = strawberry.enum_value("MESSAGED", description="Wrote to them alone.")


@strawberry.input(description="That one user did something to another.")
class InteractionInput:
    from_: strawberry.ID = strawberry.field(
        name="from", description="The id of the user who did it."
    )
    to: strawberry.ID = strawberry.field(
        description="The id of the user to whom; who did it to themselves is passed over."
    )
    kind: InteractionKind = strawberry.field(description="What it was.")
    at: datetime | None = strawberry.field(
        default=None,
        description="When, with a time zone, at most five minutes from now; if it is not given, "
        "now.",
    )
    count: int = strawberry.field(default=1, description="How often: 1 to 1,000.")


@strawberry.input(description="What users did to others.")
class RecordInteractionsInput(RepeatableInput):
    interactions: list[InteractionInput] = strawberry.field(
        description="Up to 500 interactions, in any order."
    )


@strawberry.enum(description="The outcome of `recordInteractions`.")
class RecordInteractionsOutcome(Enum):
    RECORDED = strawberry.enum_value("RECORDED", description="The interactions are recorded.")
    REJECTED = strawberry.enum_value(
        "REJECTED", description="Nothing was recorded; `userErrors` gives the reason."
    )


@strawberry.type(description="The result of `recordInteractions`.")
class RecordInteractionsPayload:
    outcome: RecordInteractionsOutcome = strawberry.field(description=OUTCOME)
    changed: bool = strawberry.field(description="Whether this request recorded anything.")
    recorded: int = strawberry.field(
        description="How many interactions count: all but those of users with themselves and "
        "those of deleted accounts. A repeat with the same idempotency key returns the number of "
        "the first request."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type
class InteractionMutations:
    """The part of `Mutation` that is about interactions; no type of the API itself."""

    @strawberry.mutation(
        description="For services: users did something to others. It orders what they are shown, "
        "and can never be read. All of it is recorded, or nothing; what is recorded twice counts "
        "twice, unless it is a repeat with the same idempotency key."
    )
    async def record_interactions(
        self,
        info: Info,
        input: Annotated[  # noqa: A002
            RecordInteractionsInput, strawberry.argument(description="Who did what to whom.")
        ],
    ) -> RecordInteractionsPayload | None:
        scope = scope_of(info)
        scope.must_be_service()
        try:
            key = idempotency_key(input.idempotency_key)
            given = _interactions(input.interactions, scope.limits.interactions_max)
        except BadInput as bad:
            recorded, told = 0, refusal_of(bad, RecordInteractionsOutcome)
        else:
            result = await record_interactions(scope, given, key, said=input.interactions)
            recorded, told = result.recorded, outcome_of(result, RecordInteractionsOutcome)
        return RecordInteractionsPayload(
            recorded=recorded,
            client_mutation_id=arguments.given(input.client_mutation_id),
            **{**told, "changed": recorded > 0},
        )


def _interactions(given: Sequence[InteractionInput], most: int) -> list[Interaction]:
    if len(given) > most:
        raise BadInput("interactions", f"{len(given)} are too many: at most {most} at once.")
    now = Millis(int(time.time() * 1000))
    return [_interaction(f"interactions.{i}", one, now) for i, one in enumerate(given)]


def _interaction(argument: str, given: InteractionInput, now: Millis) -> Interaction:
    if not 1 <= given.count <= COUNT_MAX:
        raise BadInput(f"{argument}.count", f"{given.count} is out of range: 1 to {COUNT_MAX}.")
    pair = Pair(
        arguments.user_id(f"{argument}.from", given.from_),
        arguments.user_id(f"{argument}.to", given.to),
    )
    at = now if given.at is None else _millis(f"{argument}.at", given.at, now)
    return Interaction(pair, affinity.InteractionKind[given.kind.name], at, given.count)


def _millis(argument: str, at: datetime, now: Millis) -> Millis:
    millis = Millis(int(arguments.zoned(argument, at).timestamp() * 1000))
    if not 0 <= millis <= now + CLOCKS_APART_MS:
        raise BadInput(argument, "this date is before 1970, or still to come.")
    return millis
