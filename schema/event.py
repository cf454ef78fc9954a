"""A relationship event as a GraphQL type. `graph.event` decides what the viewer sees of it."""

from datetime import datetime
from enum import Enum

import strawberry
from strawberry import enum_value

from engine import Parents, batched, weighed
from graph.edge import Millis, UserId
from graph.event import Event, EventType
from resolvers import relations
from resolvers.live import LiveEvent
from schema.context import Info, scope_of
from schema.relation import Relation
from schema.rows import RelationRow, UserRow, date, relation_rows
from schema.user import User
from schema.weights import RELATIONS
from storage.ports.reader import Check


@strawberry.enum(description="The type of a relationship event.")
class RelationshipEventType(Enum):
    FOLLOWED = enum_value("FOLLOWED", description="`from` now follows `to`.")
    UNFOLLOWED = enum_value(
        "UNFOLLOWED",
        description="`from` no longer follows `to`. Either user can have ended the follow.",
    )
    FOLLOW_CHANGED = enum_value(
        "FOLLOW_CHANGED",
        description="A public follow became a whisper or the reverse, or the viewer's own follow "
        "became or stopped being a close follow, or began or stopped asking for notifications.",
    )
    FOLLOWER_REMOVED = enum_value(
        "FOLLOWER_REMOVED",
        description="The viewer, who is `to`, removed `from` from their followers.",
    )
    REQUESTED = enum_value("REQUESTED", description="`from` sent a follow request to `to`.")
    REQUEST_ACCEPTED = enum_value(
        "REQUEST_ACCEPTED", description="`to` accepted the follow request of `from`."
    )
    REQUEST_DECLINED = enum_value(
        "REQUEST_DECLINED",
        description="The follow request of `from` ended without being accepted, and `from` did "
        "not cancel it.",
    )
    REQUEST_CANCELLED = enum_value(
        "REQUEST_CANCELLED", description="`from` cancelled their follow request."
    )
    BLOCKED = enum_value("BLOCKED", description="The viewer blocked `to`.")
    UNBLOCKED = enum_value("UNBLOCKED", description="The viewer unblocked `to`.")
    MUTED = enum_value(
        "MUTED", description="The viewer muted `to`, or changed the end of the mute."
    )
    UNMUTED = enum_value(
        "UNMUTED", description="The viewer's mute of `to` ended, by the viewer or at its end date."
    )
    SUGGESTION_DISMISSED = enum_value(
        "SUGGESTION_DISMISSED", description="The viewer dismissed the suggestion of `to`."
    )
    RESYNC = enum_value(
        "RESYNC",
        description="Events were lost, for example because the client was disconnected for too "
        "long. Fetch everything that is shown again. Sent even if `types` does not name it.",
    )


@strawberry.type(
    description="A change of the relationship between the viewer and another user. An event can "
    "be delivered more than once; duplicates have the same `id`."
)
class RelationshipEvent:
    @batched(
        description="The id of the event. Duplicates of an event have the same id. Null for RESYNC."
    )
    def id(rows: Parents[LiveEvent]) -> list[strawberry.ID | None]:
        return [strawberry.ID(row.event.id) if row.event else None for row in rows]

    @batched(description="The type of the event.")
    def type(rows: Parents[LiveEvent]) -> list[RelationshipEventType]:
        return [RelationshipEventType[row.type.name if row.type else "RESYNC"] for row in rows]

    @batched(
        description="The position of this event. Pass it as `after` to resume after this event."
    )
    def cursor(rows: Parents[LiveEvent]) -> list[str]:
        return [row.cursor for row in rows]

    @batched(description="When the change was made. Null for RESYNC.")
    def at(rows: Parents[LiveEvent]) -> list[datetime | None]:
        return [date(Millis(row.event.version // 1000)) if row.event else None for row in rows]

    @batched(
        name="from",
        graphql_type=User | None,
        description="The user whose follow, request, block, mute or dismissal changed. Null for "
        "RESYNC.",
    )
    def from_(rows: Parents[LiveEvent]) -> list[UserRow | None]:
        return [row.event.source if row.event else None for row in rows]

    @batched(
        graphql_type=User | None,
        description="The other user of the follow, request, block, mute or dismissal. Null for "
        "RESYNC.",
    )
    def to(rows: Parents[LiveEvent]) -> list[UserRow | None]:
        return [row.event.target if row.event else None for row in rows]

    @batched(
        graphql_type=Relation | None,
        metadata=weighed(call=RELATIONS, row=1.5),
        description="The current relationship between the viewer and the other user, which can be "
        "newer than the event. Null for RESYNC.",
    )
    async def relation(rows: Parents[LiveEvent], info: Info) -> list[RelationRow | None]:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        others = [_other(row.event, viewer) for row in rows if row.event]
        (found,) = await relations.visible_between(scope, [Check(viewer, others)])
        known = iter(relation_rows(viewer, others, found))
        return [next(known) if row.event else None for row in rows]


def _other(event: Event, viewer: UserId) -> UserId:
    return event.target if event.source == viewer else event.source


EVENT_TYPES = {RelationshipEventType[event_type.name]: event_type for event_type in EventType}
"""The types of `graph.event` by GraphQL value. RESYNC has none."""
