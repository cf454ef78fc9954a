"""The mutation that undoes a change."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

from graph.errors import BadInput
from graph.outcome import Outcome
from resolvers import relationship
from resolvers.relationship import Result
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations.payload import (
    IF_VERSION,
    OUTCOME,
    REJECTED,
    RelationshipPayload,
    RepeatableInput,
    relationship_payload,
)
from schema.relation import Relation
from schema.rows import RelationRow, UserRow
from schema.user import User


@strawberry.enum(description="The outcome of `undoRelationshipChange`.")
class UndoRelationshipChangeOutcome(Enum):
    RESTORED = enum_value(
        "RESTORED",
        description="The change was undone. If the user now approves their followers, a follow "
        "request was sent instead of a follow.",
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `undoRelationshipChange`.")
class UndoRelationshipChangeInput(RepeatableInput):
    undo_token: str = strawberry.field(description="The `undoToken` that the change returned.")
    if_version: str | None = strawberry.field(default=UNSET, description=IF_VERSION)


@strawberry.type(description="The result of `undoRelationshipChange`.")
class UndoRelationshipChangePayload(RelationshipPayload):
    relation: RelationRow | None = strawberry.field(
        graphql_type=Relation | None,
        description="The relationship between the viewer and the user after this mutation. Null "
        "if the input is invalid or `undoToken` is unknown.",
    )
    user: UserRow | None = strawberry.field(
        graphql_type=User | None,
        description="The other user. Null if the input is invalid or `undoToken` is unknown.",
    )
    outcome: UndoRelationshipChangeOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class UndoMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Undoes an unfollow, a block, the removal of a follower, or a declined or "
        "cancelled request: restores what it removed, with the original dates. Possible for 15 "
        "minutes by default, unless the relationship has changed since. If the user now approves "
        "their followers, a follow request is sent instead of a follow."
    )
    async def undo_relationship_change(
        self,
        info: Info,
        input: Annotated[
            UndoRelationshipChangeInput,
            strawberry.argument(description="The change to undo, and options."),
        ],
    ) -> UndoRelationshipChangePayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        try:
            key = input.key
            version = arguments.relation_version("ifVersion", input.if_version)
        except BadInput as bad:
            result = Result(Outcome.INVALID_INPUT, invalid=bad)
        else:
            result = await relationship.undo(scope, input.undo_token, key, version)
        return relationship_payload(
            UndoRelationshipChangePayload, UndoRelationshipChangeOutcome, viewer, result, input.echo
        )
