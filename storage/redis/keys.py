"""Every key of the caches, made here and nowhere else. Knows nothing of values.

The number is the value's format: raise it with the format, and old values are never read.
The braces keep a key and its lease in one slot of a Redis Cluster.
"""

from dataclasses import dataclass

from graph.edge import UserId
from graph.page import ListKind


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one space."""

    space: str

    def relations(self, user: UserId) -> str:
        return f"kith:{self.space}:rel:1:{{{user}}}"

    def entries(self, kind: ListKind, user: UserId) -> str:
        return f"kith:{self.space}:{kind.name.lower()}:1:{{{user}}}"

    def counts(self, user: UserId) -> str:
        return f"kith:{self.space}:counts:1:{{{user}}}"

    def own_writes(self, user: UserId) -> str:
        return f"kith:{self.space}:own:1:{{{user}}}"

    @property
    def everything(self) -> str:
        """A pattern of all keys of the space."""
        return f"kith:{self.space}:*:1:{{*"


def lease(key: str) -> str:
    """The lease to fill `key`."""
    return key + ":lease"
