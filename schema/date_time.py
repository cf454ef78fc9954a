"""The `DateTime` scalar: a moment as RFC 3339 writes it."""

from dataclasses import replace

from strawberry.schema.types.base_scalars import DateTimeDefinition

DATE_TIME = replace(
    DateTimeDefinition,
    description="A moment as RFC 3339 writes it, with a time zone: `2026-01-31T12:00:00.123Z`. "
    "Answers are in UTC, to the millisecond; `Z` and `+00:00` mean the same.",
    specified_by_url="https://www.rfc-editor.org/rfc/rfc3339",
)
