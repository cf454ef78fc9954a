"""The ids of persisted and trusted documents."""

CHARS_MAX = 256
PREFIX = "sha256:"
"""The GraphQL-over-HTTP specification puts it before a hash; other clients leave it out."""


def document_id(given: object) -> str | None:
    """An id without its prefix, or None if this is no id: it has 1 to `CHARS_MAX` characters."""
    if not isinstance(given, str) or len(given) > CHARS_MAX:
        return None
    return given.removeprefix(PREFIX) or None
