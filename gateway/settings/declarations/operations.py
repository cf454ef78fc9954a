"""The settings of operations: their costs, their documents, and what they may show."""

from pathlib import Path
from typing import Annotated

from pydantic import PlainValidator, SecretStr, model_validator
from pydantic_settings import NoDecode

from gateway.graphql.settings import Access
from gateway.http.addresses import Address
from gateway.http.client_address import parse_proxies
from gateway.settings.fields import (
    Group,
    Switch,
    WholeNumber,
    number,
    parse_switch,
    secret,
    setting,
    switch,
)
from gateway.settings.parsers import (
    parse_access,
    parse_address,
)

Proxies = Annotated[frozenset[str], NoDecode, PlainValidator(parse_proxies)]

AccessSetting = Annotated[Access | None, PlainValidator(parse_access)]
OptionalSwitch = Annotated[bool | None, PlainValidator(parse_switch)]
MetricsAddress = Annotated[Address | None, PlainValidator(parse_address)]


class CostVariables(Group):
    """Costs

    [What operations cost](cost.md). A cost of 1 is about 1 µs of CPU time.
    """

    limit: WholeNumber = number(
        "KITH_COST_LIMIT", 100_000, "the greatest cost of one operation", unit="cost", minimum=1_000
    )
    response_bytes_max: WholeNumber = number(
        "KITH_RESPONSE_BYTES_MAX",
        8_000_000,
        "the maximum length of a response, estimated while it is built; services too",
        unit="bytes",
        minimum=10_000,
    )
    service_limit: WholeNumber = number(
        "KITH_SERVICE_COST_LIMIT",
        1_000_000,
        "the same for services",
        unit="cost",
        minimum=1_000,
    )
    budget: WholeNumber = number(
        "KITH_BUDGET",
        20_000_000,
        "the cost that one viewer may use in a minute; 0: no limit",
        unit="cost",
        minimum=0,
    )
    anonymous_budget: WholeNumber = number(
        "KITH_ANONYMOUS_BUDGET",
        60_000_000,
        "the same for one address, of requests without a viewer",
        unit="cost",
        minimum=0,
    )
    service_budget: WholeNumber = number(
        "KITH_SERVICE_BUDGET",
        600_000_000,
        "the same for each service, named by `client_id` or `azp` of its token",
        unit="cost",
        minimum=0,
    )
    trusted_proxies: Proxies = setting(
        "KITH_TRUSTED_PROXIES",
        frozenset(),
        "proxies whose `X-Forwarded-For` or `Forwarded` names the address of a client",
        allowed="addresses and networks, `,` between; `unix`: by unix sockets",
    )

    @model_validator(mode="after")
    def _check_budgets(self) -> "CostVariables":
        users, services = (
            ("KITH_COST_LIMIT", self.limit),
            ("KITH_SERVICE_COST_LIMIT", self.service_limit),
        )
        budgets = [
            ("KITH_BUDGET", self.budget, *users),
            ("KITH_ANONYMOUS_BUDGET", self.anonymous_budget, *users),
            ("KITH_SERVICE_BUDGET", self.service_budget, *services),
        ]
        for name, budget, limit_name, limit in budgets:
            if 0 < budget < limit:
                raise ValueError(
                    f"{name} is {budget}, but one operation may cost {limit} ({limit_name}): a"
                    " budget must be at least as high, or 0"
                )
        return self


class ExposureVariables(Group):
    """What a gateway shows

    Everything in `dev`. In `serve`, what is [chosen here](security.md#what-serve-shows).
    """

    introspection: AccessSetting = setting(
        "KITH_INTROSPECTION",
        None,
        "who may select `__schema` and `__type`. In `dev` `on`, in `serve` `off`",
        allowed="off, services or on",
    )
    sdl: AccessSetting = setting(
        "KITH_FEDERATION_SDL",
        None,
        "who may select `_service`, which a [federation](federation.md) router can read. In `dev`"
        " `on`, in `serve` `off`",
        allowed="off, services or on",
    )
    suggestions: OptionalSwitch = setting(
        "KITH_SUGGESTIONS",
        None,
        "whether errors suggest names of the schema. In `dev` `on`, in `serve` `off`",
        allowed="on or off",
    )
    playground: OptionalSwitch = setting(
        "KITH_PLAYGROUND",
        None,
        "whether browsers get the [playground](playground.md). In `dev` `on`, in `serve` `off`",
        allowed="on or off",
    )
    metrics_address: MetricsAddress = setting(
        "KITH_METRICS_ADDRESS",
        None,
        "an address of its own for a gateway's `/metrics`; without it, `serve` shows none",
        allowed="`host:port` or `unix:/path`",
    )
    metrics_token: SecretStr | None = secret(
        "KITH_METRICS_TOKEN",
        "a bearer token that `/metrics` of a gateway requires",
        allowed="text",
    )


class DocumentVariables(Group):
    """Documents"""

    persisted_queries: Switch = switch(
        "KITH_PERSISTED_QUERIES",
        True,
        "[automatic persisted queries](persisted-operations.md#automatic-persisted-queries)",
    )
    trusted_documents: Path | None = setting(
        "KITH_TRUSTED_DOCUMENTS",
        None,
        "a manifest, or a folder of them: [no other"
        " documents](persisted-operations.md#trusted-documents) are run; as"
        " `serve --trusted-documents`",
        allowed="a path",
    )
