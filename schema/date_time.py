"""The scalar `DateTime`: a date and time in the format of RFC 3339."""

from dataclasses import replace

from strawberry.schema.types.base_scalars import DateTimeDefinition

DATE_TIME = replace(
    DateTimeDefinition,
    description="A date and time with a time zone as defined by RFC 3339, for example "
    "`2026-01-31T12:00:00.123Z`. Results are in UTC and end with `+00:00`; their "
    "precision is milliseconds, written with up to six decimals.",
    specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
)
