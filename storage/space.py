"""Validates the name of a space, which becomes a schema, a key prefix and a queue."""

import re

_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


def checked_space(name: str) -> str:
    """Return `name` if it is valid.

    Raises:
        ValueError: it is not; the message says what is allowed.
    """
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise ValueError(
            f"{name!r} is not a valid name of a space: use 1 to 31 lower-case letters, digits and "
            "underscores, beginning with a letter, and not with pg_."
        )
    return name
