"""The format of relation hashes. All numbers are big-endian.

relation hash   field: the other user's id in decimals; value: two halves, forward and reverse,
                each kind (3 bits), the flag NOTIFY (1), the other flags (4), since (8),
                version (8); zeros: no edge.
                field "*": as_of (8), then 1 = holds all forward edges, 2 = holds all reverse edges,
                then, while its user is writing, a zero byte
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from struct import Struct

from graph.edge import Edge, UserId
from graph.relation import STRANGERS, Relation, RelationColumn
from storage.postgres.relations import StoredEdge, UserRelations

MARKER = "*"
FORWARD, REVERSE = 1, 2

_HALF = Struct(">BQQ")
_REVERSE_OFFSET = _HALF.size
_DATES = Struct(">xQ8xxQ8x")
# The contribution of the first byte of each half to `Relation.kinds`. Tables, because a request may
# decode a thousand relations.
_FORWARD_KINDS = [first & 7 | (first & 8) << 9 | first >> 4 << 8 for first in range(256)]
_REVERSE_KINDS = [(first & 7) << 4 for first in range(256)]
_FIRST_BYTES = [
    kind | flags >> 4 << 3 | (flags & 15) << 4 for flags in range(32) for kind in range(8)
]
"""The first byte of a half, by `kind | flags << 3`. NOTIFY, the newest flag, has a bit that kinds
never used."""
_MARKER_FORMAT = Struct(">QB")
_SIDES_OFFSET = 8
# Creates named tuples without their constructor, a Python function, which would be a fifth of the
# cost of decoding one.
_relation: Callable[[tuple[int, int, int]], Relation] = partial(tuple.__new__, Relation)
_NO_HALF = bytes(_HALF.size)


def edge_half(edge: Edge) -> bytes:
    """One direction of a relation. A tombstone's date is dropped, because nobody may see it."""
    since = edge.since if edge.kind else 0
    return _HALF.pack(_FIRST_BYTES[edge.kind | edge.flags << 3], since, edge.version)


def relation_fields(relations: UserRelations) -> list[str | int | bytes]:
    """The fields and values of a whole relation hash, alternating, with the marker first."""
    complete = (FORWARD if relations.forward is not None else 0) | (
        REVERSE if relations.reverse is not None else 0
    )
    fields: list[str | int | bytes] = [MARKER, _MARKER_FORMAT.pack(relations.as_of, complete)]
    reverse = _halves(relations.reverse or {})
    for other, forward_half in _halves(relations.forward or {}).items():
        fields += other, forward_half + reverse.pop(other, _NO_HALF)
    for other, reverse_half in reverse.items():
        fields += other, _NO_HALF + reverse_half
    return fields


def _halves(edges: Mapping[UserId, StoredEdge]) -> dict[UserId, bytes]:
    """The halves of edges, as by `edge_half` but without a call for each."""
    pack = _HALF.pack
    return {
        other: pack(_FIRST_BYTES[kind | flags << 3], since if kind else 0, version)
        for other, (kind, flags, since, version) in edges.items()
    }


def relations_of_hash(fields: Iterable[str | int | bytes]) -> dict[int, Relation]:
    """Decode a relation hash: the relations that are not STRANGERS, by user.

    `fields`: alternating fields and values. Tombstones and absent fields decode alike, so a hash
    that was updated in place equals a new one.
    """
    alternating = iter(fields)
    values = {
        int(other): value
        for other, value in zip(alternating, alternating, strict=True)
        if other not in (MARKER, MARKER.encode()) and isinstance(value, bytes)
    }
    relations = zip(values, relations_in(list(values.values())), strict=True)
    return {other: relation for other, relation in relations if relation != STRANGERS}


def sides_of(marker: bytes) -> int:
    """The directions that a relation hash holds completely: FORWARD | REVERSE."""
    return marker[_SIDES_OFFSET]


def is_marked(marker: bytes) -> bool:
    """Whether the user of a relation hash is writing. Then the hash must not answer this user."""
    return len(marker) > _MARKER_FORMAT.size


def is_whole(marker: bytes | None) -> bool:
    """Whether a relation hash exists and holds both directions completely. A whale's does not."""
    return marker is not None and sides_of(marker) == FORWARD | REVERSE


def relations_in(values: Sequence[bytes | None]) -> RelationColumn:
    """The relations in fields of a complete hash. None: no relation."""
    # Without a call for each value. Most values are None, and most dates are never read.
    kinds = [
        0 if value is None else _FORWARD_KINDS[value[0]] | _REVERSE_KINDS[value[_REVERSE_OFFSET]]
        for value in values
    ]
    return RelationColumn(kinds, partial(_with_dates, kinds, values))


def _with_dates(kinds: Iterable[int], values: Iterable[bytes | None]) -> list[Relation]:
    """The relations with their dates."""
    return [
        STRANGERS if value is None else _relation((both_kinds, *_DATES.unpack(value)))
        for both_kinds, value in zip(kinds, values, strict=True)
    ]
