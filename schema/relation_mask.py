"""Many relations as one scalar. Its bits are in `graph.relation_mask`."""

from typing import NewType

import strawberry

RelationMask = NewType("RelationMask", str)

RELATION_MASK = strawberry.scalar(
    name="RelationMask",
    description="Base64 of one little-endian 16-bit number for each id, in the order of the ids. "
    "Bits from the lowest, from the side of the user who is asked: 0 following, 1 followedBy, "
    "2 friends, 3 whispering, 4 requested, 5 requestedBy, 6 blocking, 7 muted, 8 closeFollow, "
    "9 self. Each says what the field of `Relation` says; others are 0 until they mean something.",
    serialize=str,
    parse_value=str,
)
