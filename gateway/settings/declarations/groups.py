"""All groups of settings, in the order of docs/settings.md."""

from gateway.settings.declarations.authentication import ClaimVariables, TokenKeyVariables
from gateway.settings.declarations.caches import CacheVariables, VerificationVariables
from gateway.settings.declarations.clients import (
    BrowserVariables,
    HttpConnectionVariables,
    HttpRequestVariables,
    OverloadVariables,
    StreamVariables,
)
from gateway.settings.declarations.events import EventVariables, WebhookVariables
from gateway.settings.declarations.monitoring import LogVariables, TraceVariables
from gateway.settings.declarations.operations import (
    CostVariables,
    DocumentVariables,
    ExposureVariables,
)
from gateway.settings.declarations.relationships import AffinityVariables, RelationshipVariables
from gateway.settings.declarations.servers import PostgresVariables, ServerVariables, SpaceVariables
from gateway.settings.fields import (
    Group,
)

GROUPS: tuple[type[Group], ...] = (
    PostgresVariables,
    ServerVariables,
    SpaceVariables,
    TokenKeyVariables,
    ClaimVariables,
    RelationshipVariables,
    AffinityVariables,
    CacheVariables,
    EventVariables,
    WebhookVariables,
    VerificationVariables,
    HttpConnectionVariables,
    HttpRequestVariables,
    OverloadVariables,
    StreamVariables,
    BrowserVariables,
    CostVariables,
    ExposureVariables,
    DocumentVariables,
    TraceVariables,
    LogVariables,
)
