"""The scalars of the contract."""

from dataclasses import replace
from typing import NewType

import strawberry
from strawberry.schema.types.base_scalars import DateTimeDefinition

DATE_TIME = replace(
    DateTimeDefinition,
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
    "muted, 8 closeFollow, 9 self. Each bit has the meaning of the field or state of `Relation` "
    "with that name; the others are reserved.",
    serialize=str,
    parse_value=str,
)
