"""The parts that all mutations share: the fields of inputs and payloads, and how they are made."""

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import TypeVar

import strawberry
from strawberry import UNSET, enum_value

import resolvers.result
from graph.consistency import merge_moments, write_token
from graph.edge import Pair, UserId
from graph.errors import BadInput
from graph.outcome import REJECTIONS, Outcome
from resolvers import relationship
from resolvers.actions import Action
from resolvers.policy import Policy
from resolvers.relationship import Result
from schema import arguments
from schema.context import Info, scope_of
from schema.relation import Relation
from schema.rows import RelationRow, UserRow, ViewerRow, relation_row
from schema.user import User
from schema.user_errors import UserError, user_errors
from schema.viewer import Viewer

KEY_CHARS_MAX = 64
CLIENT_MUTATION_ID_CHARS_MAX = 256

OUTCOME = "The change that the mutation made, or the state that was already in effect."
CHANGED = "Whether this changed anything."
USER_ERRORS = "Why the mutation was rejected. Empty if it was not."
VIEWER = "The user who makes the request. Null only beside an error."
ECHOED = f"Any text of up to {CLIENT_MUTATION_ID_CHARS_MAX} characters. The payload returns it."
CLIENT_MUTATION_ID = "The `clientMutationId` of the input."
CONSISTENCY = (
    "A token for the argument `atLeastAsFresh` or the header `X-Consistency-Token`: the response "
    "to a request with this token includes the change. Other users can use the token too. Null if "
    "the mutation was rejected, or if the database failed directly after a change of settings or "
    "an account."
)
WRITE_CONSISTENCY = (
    "When the caller's own requests show the change. Null if the mutation was rejected."
)
IF_VERSION = (
    "Make the change only if the relation still has this `version`. Otherwise it is rejected with "
    "`CONFLICT`, and the payload contains the current relation."
)
USER_INPUT = strawberry.argument(description="The other user, and options.")
REJECTED = enum_value("REJECTED", description="Nothing changed. `userErrors` gives the reason.")
"""A value of the enum of each mutation's outcomes."""

OutcomeT = TypeVar("OutcomeT", bound=Enum)
PayloadT = TypeVar("PayloadT", bound="RelationshipPayload")
OwnPayloadT = TypeVar("OwnPayloadT", bound="OwnPayload")


@strawberry.enum(description="When the caller's own requests show a change.")
class WriteConsistency(Enum):
    IMMEDIATE = enum_value(
        "IMMEDIATE", description="From now on, through any gateway, without a `consistencyToken`."
    )
    DELAYED = enum_value(
        "DELAYED",
        description="The change is durable, but a cache could not be updated. Requests may show "
        "the state before it until a worker has updated that cache, usually within two seconds "
        "after it is available again; a change of settings or of the state of an account, for up "
        "to 300 seconds. Until then, send `consistencyToken` with them.",
    )


class EchoedInput:
    """An input with a `clientMutationId`. Making it raises BadInput if this is too long: a response
    repeats it for each alias."""

    client_mutation_id: str | None

    def __post_init__(self) -> None:
        length = len(self.echo or "")
        if length > CLIENT_MUTATION_ID_CHARS_MAX:
            allowed = f"must have at most {CLIENT_MUTATION_ID_CHARS_MAX} characters"
            raise BadInput("clientMutationId", f"{allowed}, got {length}.")

    @property
    def echo(self) -> str | None:
        """The `clientMutationId` of the payload."""
        return arguments.given(self.client_mutation_id)


@strawberry.input
class RepeatableInput(EchoedInput):
    """The fields of all inputs; not a type of the API.

    Optional fields default to UNSET, not to None, because each present value costs a conversion.
    """

    idempotency_key: str | None = strawberry.field(
        default=UNSET,
        description="A key of up to 64 characters that is unique to this request. Repeating the "
        "request with the same key within 24 hours returns the first result and changes nothing. "
        "A rejected request can be repeated with its key.",
    )
    client_mutation_id: str | None = strawberry.field(default=UNSET, description=ECHOED)

    @property
    def key(self) -> str | None:
        """The idempotency key; None if there is none.

        Raises:
            BadInput: it is empty or too long.
        """
        key = arguments.given(self.idempotency_key)
        if key == "":
            raise BadInput("idempotencyKey", f"must have 1 to {KEY_CHARS_MAX} characters, got 0.")
        return None if key is None else arguments.text("idempotencyKey", key, KEY_CHARS_MAX)


@strawberry.input
class UserInput(RepeatableInput):
    """The fields of all inputs about another user; not a type of the API."""

    user_id: strawberry.ID = strawberry.field(description="The id of the other user.")
    if_version: str | None = strawberry.field(default=UNSET, description=IF_VERSION)

    def action(self, policy: Policy) -> Action:
        """Return the action of the viewer on the other user. Raises BadInput."""
        raise NotImplementedError


@strawberry.type
class ChangeResult:
    """The fields of the result of every change; not a type of the API."""

    outcome: strawberry.Private[Enum]
    """Each type has a field with its own enum in place of this one."""

    changed: bool = strawberry.field(description=CHANGED)
    relation: RelationRow | None = strawberry.field(
        graphql_type=Relation | None,
        description="The relationship between the viewer and the user after this mutation. Null "
        "if the input is invalid.",
    )
    user: UserRow | None = strawberry.field(
        graphql_type=User | None, description="The other user. Null if the input is invalid."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    undo_token: str | None = strawberry.field(
        description="A token for `undoRelationshipChange`. Null if there is nothing to undo. Only "
        "the viewer can use it, for 15 minutes by default."
    )


@strawberry.interface(
    description="The result of a mutation that changes the relationship between the viewer and "
    "another user. Each implementation also has an `outcome`, whose values depend on the mutation."
)
class RelationshipPayload(ChangeResult):
    viewer: ViewerRow = strawberry.field(graphql_type=Viewer | None, description=VIEWER)
    consistency_token: str | None = strawberry.field(default=None, description=CONSISTENCY)
    consistency: WriteConsistency | None = strawberry.field(
        default=None, description=WRITE_CONSISTENCY
    )
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type
class OwnPayload:
    """The fields of the results of changes that concern the viewer alone; not a type of the API."""

    outcome: strawberry.Private[Enum]
    """Each type has a field with its own enum in place of this one."""

    changed: bool = strawberry.field(description=CHANGED)
    viewer: ViewerRow = strawberry.field(graphql_type=Viewer | None, description=VIEWER)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


def own_payload(
    payload: type[OwnPayloadT],
    outcomes: type[Enum],
    viewer: UserId,
    result: resolvers.result.Result,
    client_mutation_id: str | None,
) -> OwnPayloadT:
    """Return the payload of a change that concerns the viewer alone."""
    return payload(
        outcome=outcome_of(result, outcomes),
        changed=result.is_changed,
        viewer=ViewerRow(viewer),
        user_errors=user_errors(result),
        client_mutation_id=client_mutation_id,
    )


async def change_relationship(
    info: Info, given: UserInput, payload: type[PayloadT], outcomes: type[Enum]
) -> PayloadT:
    """Apply the action of the input, and return the payload, with an outcome of type `outcomes`."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    try:
        user = arguments.user_id("userId", given.user_id)
        condition = arguments.relation_version("ifVersion", given.if_version)
        action = given.action(scope.policy)
        if condition is not None:
            action = replace(action, if_version=condition)
        key = given.key
    except BadInput as bad:
        result = Result(Outcome.INVALID_INPUT, invalid=bad)
    else:
        result = await relationship.change(scope, user, action, key)
    return relationship_payload(payload, outcomes, viewer, result, given.echo)


def relationship_payload(
    payload: type[PayloadT],
    outcomes: type[Enum],
    viewer: UserId,
    result: Result,
    client_mutation_id: str | None,
) -> PayloadT:
    """Return the payload of a change of a relationship."""
    return payload(
        outcome=outcome_of(result, outcomes),
        changed=result.is_changed,
        relation=relation_after(viewer, result),
        user=result.target,
        user_errors=user_errors(result),
        undo_token=result.undo_token,
        viewer=ViewerRow(viewer),
        consistency_token=consistency_token([result]),
        consistency=write_consistency([result]),
        client_mutation_id=client_mutation_id,
    )


def outcome_of(result: resolvers.result.Result, outcomes: type[OutcomeT]) -> OutcomeT:
    """Return the outcome of a result as a value of a mutation's enum."""
    return outcomes["REJECTED" if result.outcome in REJECTIONS else result.outcome]


def relation_after(viewer: UserId, result: Result) -> RelationRow | None:
    """Return the relation of the viewer to the other user after a change."""
    if result.target is None or result.relation is None:
        return None
    return relation_row(Pair(viewer, result.target), result.relation)


def write_consistency(results: Iterable[resolvers.result.Result]) -> WriteConsistency | None:
    """Return the consistency of all changes. None if all were rejected."""
    found: WriteConsistency | None = None
    for result in results:
        if result.outcome not in REJECTIONS:
            if result.is_delayed:
                return WriteConsistency.DELAYED
            found = WriteConsistency.IMMEDIATE
    return found


def consistency_token(results: Iterable[Result]) -> str | None:
    """Return one token for all changes. None if all were rejected."""
    moment = merge_moments([result.moment for result in results if result.moment is not None])
    return None if moment is None else write_token(moment)
