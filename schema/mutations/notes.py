"""The mutation of private notes."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

from graph.errors import BadInput
from graph.outcome import Outcome
from graph.private_note import NOTE_CHARS_MAX
from resolvers import private_notes
from resolvers.relationship import Result
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations.payload import (
    OUTCOME,
    REJECTED,
    USER_INPUT,
    RelationshipPayload,
    RepeatableInput,
    relationship_payload,
)


@strawberry.enum(description="The outcome of `setNote`.")
class SetNoteOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="The note was set or deleted.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="The note already has this text. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `setNote`.")
class SetNoteInput(RepeatableInput):
    user_id: strawberry.ID = strawberry.field(description="The id of the other user.")
    note: str | None = strawberry.field(
        default=UNSET,
        description="A text of up to 200 characters in one line, without control characters. If "
        "null, omitted or empty, the note is deleted.",
    )


@strawberry.type(description="The result of `setNote`.")
class SetNotePayload(RelationshipPayload):
    outcome: SetNoteOutcome = strawberry.field(description=OUTCOME)


@strawberry.type
class NoteMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Sets or deletes the viewer's private note about a user, which only the viewer "
        "can read, as `Relation.note`. The viewer need not follow the user. Cannot be undone."
    )
    async def set_note(
        self, info: Info, input: Annotated[SetNoteInput, USER_INPUT]
    ) -> SetNotePayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        try:
            user = arguments.user_id("userId", input.user_id)
            given = arguments.given(input.note)
            note = arguments.line("note", given, NOTE_CHARS_MAX) if given else None
            key = input.key
        except BadInput as bad:
            result = Result(Outcome.INVALID_INPUT, invalid=bad)
        else:
            result = await private_notes.set_note(scope, user, note, key)
        return relationship_payload(SetNotePayload, SetNoteOutcome, viewer, result, input.echo)
