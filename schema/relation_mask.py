"""The scalar for many relations. `graph.relation_mask` defines its bits."""

from typing import NewType

import strawberry

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
