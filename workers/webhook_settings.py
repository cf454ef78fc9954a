"""The settings of webhooks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workers.webhook_addresses import Network


@dataclass(frozen=True, slots=True)
class WebhookTimes:
    """How long deliveries are tried and kept."""

    timeout_ms: int = 10_000
    """Timeout of one attempt: name resolution, connection, request and response together."""
    retried_s: int = 86_400
    """A delivery that fails later than this after its event was queued is parked."""
    disabled_s: int = 3 * 86_400
    """An endpoint is disabled after all attempts have failed for this long."""
    kept_s: int = 7 * 86_400
    """How long deliveries are kept after they ended."""
    retry_first_s: float = 5.0
    retry_max_s: float = 3_600.0
    """The waits between attempts: doubled each time, and shortened by up to a half at random."""


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The settings of the webhooks of one space."""

    encryption_keys: Sequence[str] = field(default=(), repr=False)
    """Keys that encrypt the secrets of endpoints. Without keys, nothing is delivered."""
    networks: Sequence[Network] = ()
    """Networks of private addresses that are allowed."""
    allows_http: bool = False
    """Whether URLs may begin with `http:`."""
    times: WebhookTimes = field(default_factory=WebhookTimes)
