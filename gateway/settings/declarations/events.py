"""The settings of events and of webhooks."""

from typing import Annotated

from pydantic import AfterValidator, PlainValidator, SecretStr
from pydantic_settings import NoDecode

from gateway.settings.fields import (
    A_DAY_S,
    Group,
    Switch,
    WholeNumber,
    number,
    secret,
    setting,
    switch,
)
from gateway.settings.parsers import (
    check_encryption_keys,
    parse_networks,
)
from workers.webhook_addresses import Network

EncryptionKeys = Annotated[SecretStr, AfterValidator(check_encryption_keys)]
Networks = Annotated[tuple[Network, ...], NoDecode, PlainValidator(parse_networks)]


class EventVariables(Group):
    """Events"""

    events_max: WholeNumber = number(
        "KITH_EVENTS_MAX",
        50_000,
        "events that each of the eight streams of the [change feed](events.md#the-change-feed)"
        " keeps",
        unit="events",
        minimum=100,
    )
    events_kept_s: WholeNumber = number(
        "KITH_EVENTS_KEPT_S", A_DAY_S, "how long the change feed keeps them", minimum=60, unit="s"
    )
    feed_max: WholeNumber = number(
        "KITH_FEED_MAX",
        1_000,
        "events that a subscriber's feed keeps",
        unit="events",
        minimum=100,
        maximum=100_000,
    )
    feed_kept_s: WholeNumber = number(
        "KITH_FEED_KEPT_S",
        A_DAY_S,
        "how long a feed is kept after its subscriber's last read",
        minimum=60,
        unit="s",
    )


class WebhookVariables(Group):
    """Webhooks

    For workers, and for `kith webhooks`. See [webhooks](webhooks.md).
    """

    encryption_keys: EncryptionKeys | None = secret(
        "KITH_WEBHOOKS_ENCRYPTION_KEYS",
        "keys that encrypt the [secrets](security.md#secrets-of-webhooks) of endpoints; the first"
        " one encrypts, and all decrypt. Without any, nothing is delivered",
        allowed="one a line, 32 bytes or more each",
    )
    networks: Networks = setting(
        "KITH_WEBHOOKS_NETWORKS",
        (),
        "private networks that endpoints may be in",
        allowed="networks such as `10.1.0.0/16`, separated by commas",
    )
    http: Switch = switch(
        "KITH_WEBHOOKS_HTTP", False, "whether URLs of endpoints may begin with `http:`"
    )
    timeout_ms: WholeNumber = number(
        "KITH_WEBHOOKS_TIMEOUT_MS",
        10_000,
        "for one attempt: name resolution, connection, request and response",
        unit="ms",
        minimum=100,
        maximum=60_000,
    )
    retried_s: WholeNumber = number(
        "KITH_WEBHOOKS_RETRIED_S",
        A_DAY_S,
        "how long a delivery is tried before it is parked",
        unit="s",
        minimum=0,
        maximum=7 * A_DAY_S,
    )
    disabled_s: WholeNumber = number(
        "KITH_WEBHOOKS_DISABLED_S",
        3 * A_DAY_S,
        "how long every attempt must have failed before the endpoint is disabled",
        unit="s",
        minimum=60,
    )
    kept_s: WholeNumber = number(
        "KITH_WEBHOOKS_KEPT_S",
        7 * A_DAY_S,
        "how long deliveries are kept: delivered and parked ones in the log, and those of a paused"
        " endpoint",
        unit="s",
        minimum=60,
    )
