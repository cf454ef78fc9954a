"""The mutations that start and cancel bulk operations, for services."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

from engine import length_of, weighed
from graph.bulk import BulkOperation as BulkRow
from graph.bulk import BulkOptions
from graph.errors import BadInput
from graph.outcome import Outcome
from resolvers import bulk
from resolvers.audit import require_service
from resolvers.result import Result
from schema import arguments
from schema.bulk_operation import BulkOperation
from schema.context import Info, scope_of
from schema.mutations.bulk_lines import write_line
from schema.mutations.changes import RelationshipChangeInput
from schema.mutations.payload import (
    CLIENT_MUTATION_ID,
    ECHOED,
    OUTCOME,
    REJECTED,
    USER_ERRORS,
    EchoedInput,
)
from schema.user_errors import UserError, user_errors
from schema.weights import QUERY

CHANGES_MAX = 1_000

_FOR_SERVICES = (
    "Only for services that do not act for a user: other callers get the error `FORBIDDEN`."
)
_OPERATION = "The operation. Null if the input is invalid, or there is none to cancel."


@strawberry.input(description="One change of `startBulkOperation`.")
class BulkChangeInput(RelationshipChangeInput):
    viewer_id: strawberry.ID = strawberry.field(
        description="The id of the user who makes the change."
    )


@strawberry.input
class BulkInput(EchoedInput):
    """The fields of both inputs; not a type of the API."""

    id: strawberry.ID = strawberry.field(
        description="The id of the operation, chosen by the service: 1 to 64 characters out of "
        "A-Z, a-z, 0-9, `.`, `_` and `-`. Other services can use the same id."
    )
    client_mutation_id: str | None = strawberry.field(default=UNSET, description=ECHOED)


@strawberry.input(description="Input of `startBulkOperation`.")
class StartBulkOperationInput(BulkInput):
    changes: list[BulkChangeInput] = strawberry.field(
        description="1 to 1,000 changes. Send more with `POST /bulk`."
    )
    changes_per_second: int | None = strawberry.field(
        default=UNSET,
        description="The maximum number of changes in a second, from 10 to 10,000. If omitted, as "
        "fast as a worker can.",
    )
    ignores_rate_limit: bool | None = strawberry.field(
        default=UNSET,
        description="Whether the rate limit of users does not apply, for example to import old "
        "follows; false by default. All other rules and limits apply.",
    )


@strawberry.input(description="Input of `cancelBulkOperation`.")
class CancelBulkOperationInput(BulkInput):
    pass


@strawberry.enum(description="The outcome of `startBulkOperation`.")
class StartBulkOperationOutcome(Enum):
    STARTED = enum_value("STARTED", description="The operation was started.")
    ALREADY_STARTED = enum_value(
        "ALREADY_STARTED",
        description="The operation was started before with the same input. Nothing changed.",
    )
    REJECTED = REJECTED


@strawberry.enum(description="The outcome of `cancelBulkOperation`.")
class CancelBulkOperationOutcome(Enum):
    CANCELED = enum_value(
        "CANCELED",
        description="The operation is canceled. Up to 200 lines that a worker had begun are still "
        "applied.",
    )
    ALREADY_ENDED = enum_value(
        "ALREADY_ENDED",
        description="The operation has ended, or is being canceled, or the service has none with "
        "this id. Nothing changed.",
    )
    REJECTED = REJECTED


@strawberry.type
class BulkPayload:
    """The fields of both payloads; not a type of the API."""

    outcome: strawberry.Private[Enum]
    """Each type has a field with its own enum in place of this one."""

    operation: BulkRow | None = strawberry.field(
        graphql_type=BulkOperation | None, description=_OPERATION
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `startBulkOperation`.")
class StartBulkOperationPayload(BulkPayload):
    outcome: StartBulkOperationOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `cancelBulkOperation`.")
class CancelBulkOperationPayload(BulkPayload):
    outcome: CancelBulkOperationOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class BulkMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        metadata=weighed(
            call=4 * QUERY, page=length_of("input.changes", maximum=CHANGES_MAX), entry=5
        ),
        description="Starts to make many changes for many users in the background, by the rules "
        "and limits of the single mutations. Repeating it with the same id and input returns the "
        f"first operation. {_FOR_SERVICES}",
    )
    async def start_bulk_operation(
        self,
        info: Info,
        input: Annotated[
            StartBulkOperationInput, strawberry.argument(description="The changes, and options.")
        ],
    ) -> StartBulkOperationPayload | None:
        scope = scope_of(info)
        require_service(scope, "startBulkOperation")
        outcome, operation, errors = StartBulkOperationOutcome.REJECTED, None, []
        try:
            key = bulk.key_of(scope, "id", input.id)
            options = BulkOptions(
                arguments.given(input.changes_per_second),
                bool(arguments.given(input.ignores_rate_limit)),
            )
            changes = arguments.at_most("changes", input.changes, CHANGES_MAX)
            lines = [write_line(change.viewer_id, change) for change in changes]
            operation, is_new = await bulk.start_with(scope, key, options, lines)
            outcome = (
                StartBulkOperationOutcome.STARTED
                if is_new
                else StartBulkOperationOutcome.ALREADY_STARTED
            )
        except BadInput as bad:
            errors = user_errors(Result(Outcome.INVALID_INPUT, invalid=bad))
        return StartBulkOperationPayload(
            outcome=outcome,
            operation=operation,
            user_errors=errors,
            client_mutation_id=input.echo,
        )

    @strawberry.mutation(
        metadata=weighed(call=3 * QUERY),
        description="Cancels a bulk operation of the calling service. Changes that were made stay. "
        f"{_FOR_SERVICES}",
    )
    async def cancel_bulk_operation(
        self,
        info: Info,
        input: Annotated[
            CancelBulkOperationInput, strawberry.argument(description="The operation.")
        ],
    ) -> CancelBulkOperationPayload | None:
        scope = scope_of(info)
        require_service(scope, "cancelBulkOperation")
        outcome, operation, errors = CancelBulkOperationOutcome.REJECTED, None, []
        try:
            operation, was_open = await bulk.cancel(scope, bulk.key_of(scope, "id", input.id))
            outcome = (
                CancelBulkOperationOutcome.CANCELED
                if was_open
                else CancelBulkOperationOutcome.ALREADY_ENDED
            )
        except BadInput as bad:
            errors = user_errors(Result(Outcome.INVALID_INPUT, invalid=bad))
        return CancelBulkOperationPayload(
            outcome=outcome,
            operation=operation,
            user_errors=errors,
            client_mutation_id=input.echo,
        )
