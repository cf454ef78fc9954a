"""The scalars of the contract."""

import json
from dataclasses import replace
from typing import Any, NewType

import strawberry
from graphql import GraphQLError
from strawberry.schema.types.base_scalars import DateTimeDefinition

SHOWN_CHARS_MAX = 40

_parsed: Any = DateTimeDefinition.parse_value


def _date_time(value: object) -> object:
    """The date and time, which may lack a time zone. Raises GraphQLError."""
    try:
        return _parsed(value)
    except GraphQLError:
        shown = json.dumps(value, ensure_ascii=False, default=str)[:SHOWN_CHARS_MAX]
        raise GraphQLError(
            f'A DateTime must be a string like "2026-01-31T12:00:00Z", got {shown}.'
        ) from None


DATE_TIME = replace(
    DateTimeDefinition,
    parse_value=_date_time,
    description="A date and time with a time zone as defined by RFC 3339, for example "
    "`2026-01-31T12:00:00.123Z`. Results are in UTC and end with `+00:00`; their "
    "precision is milliseconds, written with up to six decimals.",
    specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
)

RelationMask = NewType("RelationMask", str)

RELATION_MASK = strawberry.scalar(
    name="RelationMask",
    description="The relations between one user and many others: base64 of one unsigned "
    "little-endian 16-bit number for each id, in the order of the ids. From the lowest bit: 0 "
    "following, 1 followedBy, 2 friends, 3 whispering, 4 requested, 5 requestedBy, 6 blocking, 7 "
    "muted, 8 closeFollow, 9 self, 10 notify. Each bit has the meaning of the field or state of "
    "`Relation` with that name; the others are reserved.",
    serialize=str,
    parse_value=str,
)
