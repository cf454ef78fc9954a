"""Reads the declaration of shards in the comments of a statement or function."""

import re
from dataclasses import dataclass

from storage.postgres.migrate import function_texts

_DECLARATION = re.compile(r"^-- shard:(.*)$", re.MULTILINE)
_BINDING = re.compile(r"\$(\d+)(\[1?\])?")
_PLAIN = re.compile(r"plain(?: \((\w+\.\w+)\))?")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The shards that a statement may use."""

    users: frozenset[int] = frozenset()
    """Numbers of the parameters that are one user."""
    arrays: frozenset[int] = frozenset()
    singles: frozenset[int] = frozenset()
    """Those of `arrays` that have one user on Citus."""
    is_fan_out: bool = False
    is_local: bool = False
    is_plain: bool = False
    """The statement is for plain PostgreSQL only. Another statement replaces it on Citus."""
    replacement: str | None = None
    """`FILE.NAME` of the statement that replaces it, unless that is `NAME_on_citus`."""


def declared(sql: str) -> Declaration | None:
    """The declaration in the comments of a statement; None if there is none or it is malformed."""
    found = _DECLARATION.findall(sql)
    if len(found) != 1:
        return None
    text = found[0].strip()
    if plain := _PLAIN.fullmatch(text):
        return Declaration(is_plain=True, replacement=plain[1])
    if text in ("fan-out", "local"):
        return Declaration(is_fan_out=text == "fan-out", is_local=text == "local")
    bindings = [_BINDING.fullmatch(part.strip()) for part in text.split(",")]
    if not all(bindings):
        return None
    numbers = [(int(b[1]), b[2]) for b in bindings if b]
    return Declaration(
        frozenset(number for number, array in numbers if not array),
        frozenset(number for number, array in numbers if array),
        frozenset(number for number, array in numbers if array == "[1]"),
    )


def _is_plain(text: str) -> bool:
    declaration = declared(text)
    return declaration is not None and declaration.is_plain


PLAIN_FUNCTIONS = frozenset(name for name, text in function_texts().items() if _is_plain(text))
"""The functions of storage/postgres/functions/ that cannot run on Citus."""
