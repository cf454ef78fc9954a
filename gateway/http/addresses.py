"""Addresses that a gateway listens on."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host (a name, an IPv4 or an IPv6 address) and a port."""

    host: str
    port: int

    @property
    def shown(self) -> str:
        """The address as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A socket file and its permissions: processes that may write to it may connect."""

    path: Path
    mode: int = 0o660

    @property
    def shown(self) -> str:
        """The address as in a log."""
        return f"unix:{self.path}"


Address = TcpAddress | UnixAddress
