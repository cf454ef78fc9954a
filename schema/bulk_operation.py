"""Bulk operations."""

from datetime import datetime
from enum import Enum

import strawberry
from strawberry import enum_value

from engine import Parents, batched
from graph.bulk import BulkOperation as BulkRow
from graph.bulk import BulkState
from graph.edge import Millis
from schema.rows import date


@strawberry.enum(description="The state of a bulk operation.")
class BulkOperationState(Enum):
    PENDING = enum_value("PENDING", description="No line has been applied yet.")
    RUNNING = enum_value("RUNNING", description="A worker applies the lines.")
    CANCELING = enum_value(
        "CANCELING",
        description="The operation was canceled. A worker completes up to 200 lines that it had "
        "begun.",
    )
    CANCELED = enum_value(
        "CANCELED", description="The operation was canceled. The other lines were not applied."
    )
    COMPLETED = enum_value("COMPLETED", description="All lines have results.")


_STATES = {state: BulkOperationState[state.name] for state in BulkState}


@strawberry.type(
    description="Many changes for many users, which a service has started and workers apply. The "
    "result of each line is in `GET /bulk/{id}/results`."
)
class BulkOperation:
    @batched(description="The id that the service has chosen.")
    def id(rows: Parents[BulkRow]) -> list[strawberry.ID]:
        return [strawberry.ID(row.key.id) for row in rows]

    @batched(description="The state of the operation.")
    def state(rows: Parents[BulkRow]) -> list[BulkOperationState]:
        return [_STATES[row.state] for row in rows]

    @batched(description="The number of lines.")
    def line_count(rows: Parents[BulkRow]) -> list[int]:
        return [row.lines for row in rows]

    @batched(description="The number of lines that have a result. It grows in steps of up to 200.")
    def applied_count(rows: Parents[BulkRow]) -> list[int]:
        return [sum(row.counts) for row in rows]

    @batched(description="The number of applied lines that have changed something.")
    def changed_count(rows: Parents[BulkRow]) -> list[int]:
        return [row.counts.changed for row in rows]

    @batched(
        description="The number of applied lines that have changed nothing, because their change "
        "was already in effect."
    )
    def unchanged_count(rows: Parents[BulkRow]) -> list[int]:
        return [row.counts.unchanged for row in rows]

    @batched(description="The number of applied lines that were invalid or rejected.")
    def rejected_count(rows: Parents[BulkRow]) -> list[int]:
        return [row.counts.rejected for row in rows]

    @batched(
        description="The maximum number of changes in a second. Null: as fast as a worker can."
    )
    def changes_per_second(rows: Parents[BulkRow]) -> list[int | None]:
        return [row.options.per_second for row in rows]

    @batched(description="Whether the rate limit of users does not apply.")
    def ignores_rate_limit(rows: Parents[BulkRow]) -> list[bool]:
        return [row.options.ignores_rate_limit for row in rows]

    @batched(description="When the operation was started.")
    def created_at(rows: Parents[BulkRow]) -> list[datetime]:
        return [_moment(row.created_at) for row in rows]

    @batched(description="When a worker has begun to apply it. Null: not yet.")
    def started_at(rows: Parents[BulkRow]) -> list[datetime | None]:
        return [None if row.started_at is None else _moment(row.started_at) for row in rows]

    @batched(description="When it was completed or canceled. Null: not yet.")
    def ended_at(rows: Parents[BulkRow]) -> list[datetime | None]:
        return [None if row.ended_at is None else _moment(row.ended_at) for row in rows]


def _moment(microseconds: int) -> datetime:
    return date(Millis(microseconds // 1000))
