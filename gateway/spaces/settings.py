"""Settings of a process that serves several spaces."""

from collections.abc import Set
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.authentication.token_claims import ClaimPath, parse_claim_path

ANY = "*"


class SpaceSource(StrEnum):
    """A part of a request that may name its space."""

    CLAIM = "claim"
    HEADER = "header"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class NamedBy:
    """The parts of a request that may name its space."""

    sources: Set[SpaceSource] = frozenset({SpaceSource.PATH})
    claim: ClaimPath = field(default_factory=lambda: parse_claim_path("space"))


@dataclass(frozen=True, slots=True)
class SpacesSettings:
    """The spaces that a process serves beside its default one, and how a request names its own."""

    names: Set[str] = frozenset()
    """Those that may be served, as far as they exist; with ANY, all. Empty: the process serves only
    the default space."""
    named_by: NamedBy = field(default_factory=NamedBy)
    open_max: int = 50
    """How many spaces beside the default one a process has open at once."""
    idle_s: float = 300
    """How long after its last request a space is closed."""
    connections_max: int = 32
    """Connections to PostgreSQL of all spaces of a process together."""

    def allows(self, name: str) -> bool:
        """Whether this process may serve a space of this name."""
        return ANY in self.names or name in self.names
