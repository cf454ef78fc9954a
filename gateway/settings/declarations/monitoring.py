"""The settings of traces and of the log."""

from typing import Annotated

from pydantic import PlainValidator

from gateway.settings.fields import (
    Group,
    WholeNumber,
    number,
    setting,
)
from gateway.settings.parsers import (
    parse_level,
)

Level = Annotated[str, PlainValidator(parse_level)]


class TraceVariables(Group):
    """Traces

    The address of an OpenTelemetry collector turns [traces](traces.md) on. OpenTelemetry reads its
    other standard variables itself.
    """

    endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        None,
        "a collector that receives OTLP over HTTP; it requires the extra `kith[otel]`",
        allowed="`http://…` or `https://…`",
    )
    traces_endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        None,
        "the same, for traces alone, with the path",
        allowed="`http://…/v1/traces`",
    )
    disabled: str = setting(
        "OTEL_SDK_DISABLED", "false", "turns traces off", allowed="`true` or `false`"
    )


class LogVariables(Group):
    """Logs

    What [the log](operations.md#the-log) holds.
    """

    level: Level = setting(
        "KITH_LOG_LEVEL",
        "info",
        "the least severe level that is logged",
        allowed="`debug`, `info`, `warning`, `error`",
    )
    slow_operation_ms: WholeNumber = number(
        "KITH_SLOW_OPERATION_MS",
        1_000,
        "operations that take as long are [logged](operations.md#slow-operations); 0: none are",
        unit="ms",
        minimum=0,
        maximum=60_000,
    )
    operation_names_max: WholeNumber = number(
        "KITH_METRICS_OPERATIONS_MAX",
        50,
        "operation names with [metrics](metrics.md#requests) of their own, per process",
        unit="names",
        minimum=1,
        maximum=1_000,
    )
