"""The mutation that marks followers as seen."""

from datetime import datetime
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

import resolvers.result
from graph.cursor import read_cursor
from graph.edge import Millis, UserId
from graph.errors import BadCursor, BadInput
from graph.lists import ListKind, ListOf
from graph.outcome import Outcome
from resolvers.new_followers import mark_followers_seen
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations.payload import OUTCOME, REJECTED, OwnPayload, RepeatableInput, own_payload


@strawberry.enum(description="The outcome of `markFollowersSeen`.")
class MarkFollowersSeenOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="Followers were marked as seen.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="These followers were marked already. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(
    description="Input of `markFollowersSeen`. Without `upTo` and `upToCursor`, all followers whom "
    "the list shows now are marked."
)
class MarkFollowersSeenInput(RepeatableInput):
    up_to: datetime | None = strawberry.field(
        default=UNSET,
        description="Marks the followers who have followed until this date, for example the "
        "`followedAt` of the newest follower that was shown. A date after the newest follower of "
        "the list counts as the date of that follower.",
    )
    up_to_cursor: str | None = strawberry.field(
        default=UNSET,
        description="The same with the cursor of an edge of the viewer's `followers`, in either "
        "order. Cannot be combined with `upTo`.",
    )


@strawberry.type(description="The result of `markFollowersSeen`.")
class MarkFollowersSeenPayload(OwnPayload):
    outcome: MarkFollowersSeenOutcome = strawberry.field(description=OUTCOME)


_INPUT = strawberry.argument(description="Which followers, and options.")


@strawberry.type
class NewFollowerMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Marks the viewer's followers up to a date as seen: they are no longer new, "
        "for `FollowerEdge.isNew` and `Viewer.newFollowersCount`. Nobody else can read this. "
        "Followers stay marked, whatever date a later request gives."
    )
    async def mark_followers_seen(
        self, info: Info, input: Annotated[MarkFollowersSeenInput, _INPUT]
    ) -> MarkFollowersSeenPayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        try:
            until = _moment(viewer, input)
            key = input.key
        except BadInput as bad:
            result = resolvers.result.Result(Outcome.INVALID_INPUT, invalid=bad)
        else:
            result = await mark_followers_seen(scope, until, key)
        types = MarkFollowersSeenPayload, MarkFollowersSeenOutcome
        return own_payload(*types, viewer, result, input.echo)


def _moment(viewer: UserId, given: MarkFollowersSeenInput) -> Millis | None:
    """The date up to which followers are marked. None: all whom the list shows. Raises BadInput."""
    date, cursor = arguments.given(given.up_to), arguments.given(given.up_to_cursor)
    if date is not None and cursor is not None:
        raise BadInput("upToCursor", "cannot be combined with `upTo`. Use only one of them.")
    if date is not None:
        return arguments.moment("upTo", date)
    return None if cursor is None else _date_of(viewer, cursor)


def _date_of(viewer: UserId, cursor: str) -> Millis:
    """Return the date of a cursor of the viewer's followers, in either order."""
    newest_first = ListOf(ListKind.FOLLOWERS, viewer)
    try:
        return read_cursor("upToCursor", cursor, newest_first._replace(oldest_first=True)).since
    except BadCursor:
        return read_cursor("upToCursor", cursor, newest_first).since
