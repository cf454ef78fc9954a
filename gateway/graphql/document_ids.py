"""The ids of persisted and trusted documents."""

CHARS_MAX = 256
"""The length of an id, with its prefix."""
PREFIX = "sha256:"
"""The GraphQL-over-HTTP specification puts it before a hash; other clients leave it out."""


def document_id(value: object) -> str | None:
    """The id without `PREFIX`. None if the value is no text, has more than `CHARS_MAX` characters,
    or is empty without the prefix."""
    if not isinstance(value, str) or len(value) > CHARS_MAX:
        return None
    return value.removeprefix(PREFIX) or None
