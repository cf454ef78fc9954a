"""Named SQL statements from the files beside this one. Knows nothing of what they say.

A file holds blocks that begin with `-- name: some_name`; a store declares a frozen dataclass with
one `str` field a name. A name that is missing on either side stops the import.
"""

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TypeVar

_QUERIES = Path(__file__).parent / "queries"
_MARK = "-- name: "

T = TypeVar("T")


def load(statements: type[T], file: str) -> T:
    """The statements of `queries/FILE.sql`, as the dataclass that names them.

    Raises:
        LookupError: the file and the class do not hold the same names.
    """
    assert is_dataclass(statements)
    found = parse((_QUERIES / f"{file}.sql").read_text(encoding="utf-8"))
    wanted = {field.name for field in fields(statements)}
    if found.keys() != wanted:
        odd = ", ".join(sorted(found.keys() ^ wanted))
        raise LookupError(f"{file}.sql and {statements.__name__} disagree about: {odd}")
    return statements(**found)


def parse(text: str) -> dict[str, str]:
    """`{name: statement}`, each statement with its own comment, so that a log shows both."""
    blocks = text.split(_MARK)[1:]
    named = {}
    for block in blocks:
        name, _, body = block.partition("\n")
        if name.strip() in named:
            raise LookupError(f"two statements are named {name.strip()}")
        named[name.strip()] = f"{_MARK}{name}\n{body.strip()}"
    return named
