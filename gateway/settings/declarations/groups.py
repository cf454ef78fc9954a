"""All groups of settings, in the order of docs/settings.md."""

from gateway.settings.declarations.authentication import Claims, TokenKeys
from gateway.settings.declarations.caches import Caches, Verification
from gateway.settings.declarations.clients import (
    Browsers,
    HttpConnections,
    HttpRequests,
    Overload,
    Streams,
)
from gateway.settings.declarations.events import Events, Webhooks
from gateway.settings.declarations.monitoring import Logs, Traces
from gateway.settings.declarations.operations import Costs, Documents, Exposed
from gateway.settings.declarations.relationships import Affinity, Relationships
from gateway.settings.declarations.servers import Postgres, Servers, Spaces
from gateway.settings.fields import (
    Group,
)

GROUPS: tuple[type[Group], ...] = (
    Postgres,
    Servers,
    Spaces,
    TokenKeys,
    Claims,
    Relationships,
    Affinity,
    Caches,
    Events,
    Webhooks,
    Verification,
    HttpConnections,
    HttpRequests,
    Overload,
    Streams,
    Browsers,
    Costs,
    Exposed,
    Documents,
    Traces,
    Logs,
)
