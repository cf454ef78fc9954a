"""An event as its viewer hears it, as a type. Decides nothing: `graph.event` does."""

from datetime import datetime
from enum import Enum
from typing import cast

import strawberry

from engine import Parents, batched
from graph.edge import Millis, UserId
from graph.event import Event, EventType
from resolvers import relations
from resolvers.live import Heard
from schema.context import Info, scope_of
from schema.relation import Relation
from schema.rows import date, relation_rows
from schema.user import User
from storage.ports import Check


@strawberry.enum(description="What happened between two users, as far as the viewer may know.")
class RelationshipEventType(Enum):
    FOLLOWED = strawberry.enum_value("FOLLOWED", description="`from` follows `to` now.")
    UNFOLLOWED = strawberry.enum_value(
        "UNFOLLOWED",
        description="`from` does not follow `to` any more, whoever of the two ended it.",
    )
    FOLLOW_CHANGED = strawberry.enum_value(
        "FOLLOW_CHANGED",
        description="A follow became a whisper, or a whisper a follow; or the viewer's own follow "
        "became close, or is so no longer.",
    )
    FOLLOWER_REMOVED = strawberry.enum_value(
        "FOLLOWER_REMOVED", description="The viewer, who is `to`, removed the follower `from`."
    )
    REQUESTED = strawberry.enum_value("REQUESTED", description="`from` asks to follow `to`.")
    REQUEST_ACCEPTED = strawberry.enum_value(
        "REQUEST_ACCEPTED", description="`to` accepted the request of `from`."
    )
    REQUEST_DECLINED = strawberry.enum_value(
        "REQUEST_DECLINED",
        description="The request of `from` is gone, and it was not `from` who took it back.",
    )
    REQUEST_CANCELLED = strawberry.enum_value(
        "REQUEST_CANCELLED", description="`from` took their request back."
    )
    BLOCKED = strawberry.enum_value("BLOCKED", description="The viewer blocked `to`.")
    UNBLOCKED = strawberry.enum_value("UNBLOCKED", description="The viewer unblocked `to`.")
    MUTED = strawberry.enum_value("MUTED", description="The viewer muted `to`, or said until when.")
    UNMUTED = strawberry.enum_value(
        "UNMUTED", description="The viewer's mute of `to` ended, perhaps by itself."
    )
    SUGGESTION_DISMISSED = strawberry.enum_value(
        "SUGGESTION_DISMISSED", description="The viewer wants no suggestion of `to` again."
    )
    RESYNC = strawberry.enum_value(
        "RESYNC",
        description="Events were lost, because the viewer was away for too long or too much "
        "happened: ask anew for whatever is shown. Sent whichever `types` are asked for.",
    )


@strawberry.type(
    description="Something that happened between the viewer and another user. It may come more "
    "than once: two events with one `id` are the same."
)
class RelationshipEvent:
    @batched(description="What is the same however often the event comes; null for a RESYNC.")
    def id(rows: Parents[Heard]) -> list[strawberry.ID | None]:
        return [strawberry.ID(row.event.id) if row.event else None for row in rows]

    @batched(description="What happened.")
    def type(rows: Parents[Heard]) -> list[RelationshipEventType]:
        return [RelationshipEventType[row.type.name if row.type else "RESYNC"] for row in rows]

    @batched(description="Give this as `after` to hear what came behind this event.")
    def cursor(rows: Parents[Heard]) -> list[str]:
        return [row.cursor for row in rows]

    @batched(description="When it happened; null for a RESYNC.")
    def at(rows: Parents[Heard]) -> list[datetime | None]:
        return [date(Millis(row.event.version // 1000)) if row.event else None for row in rows]

    @batched(name="from", description="Whose follow, request or block it is; null for a RESYNC.")
    def from_(rows: Parents[Heard]) -> list[User | None]:
        return cast("list[User | None]", [row.event and row.event.source for row in rows])

    @batched(description="Towards whom; null for a RESYNC.")
    def to(rows: Parents[Heard]) -> list[User | None]:
        return cast("list[User | None]", [row.event and row.event.target for row in rows])

    @batched(description="How the viewer stands to the other one by now; null for a RESYNC.")
    async def relation(rows: Parents[Heard], info: Info) -> list[Relation | None]:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        others = [_other(row.event, viewer) for row in rows if row.event]
        (found,) = await relations.between(scope, [Check(viewer, others)])
        known = iter(relation_rows(viewer, others, found))
        return cast("list[Relation | None]", [row.event and next(known) for row in rows])


def _other(event: Event, viewer: UserId) -> UserId:
    return event.target if event.source == viewer else event.source


TYPES = {RelationshipEventType[kind.name]: kind for kind in EventType}
"""From what a caller asks for to what the rules know; RESYNC is none of these."""
