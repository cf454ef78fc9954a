"""Versions of relations: what a change can be conditional on.

A version is a digest of what one user may see of a relation and of the version of their own edge.
It changes with every change that this user may notice. The other user's flags are not part of it,
and a block by the other user changes it as a deactivation does.
"""

from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import NamedTuple

from graph.edge import Millis, Version
from graph.relation import Relation

LENGTH = 16
"""12 bytes in base64."""


class OwnEdge(NamedTuple):
    """The parts of a user's own edge that a `Relation` does not hold."""

    version: Version
    muted_until: Millis | None


NO_OWN_EDGE = OwnEdge(Version(0), None)


def version_of(relation: Relation, own: OwnEdge, *, is_unavailable: bool) -> str:
    """The version of a relation for its first user.

    `relation`: as this user may see it. `is_unavailable`: whether the second user is absent or
    blocks the first. Then the edge's version is left out, so that the two look the same: a deletion
    ends the edge, a block ends a follow, and a deactivation changes nothing.
    """
    edge_version = 0 if is_unavailable else own.version
    seen = (*map(int, relation), own.muted_until, edge_version)
    return urlsafe_b64encode(blake2b(repr(seen).encode(), digest_size=12).digest()).decode()
