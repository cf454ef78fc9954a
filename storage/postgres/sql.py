"""Loads named SQL statements from the files in `queries/`.

A file holds blocks that begin with `-- name: some_name`; a store declares a frozen dataclass with
one `str` field for each name. If the file or the class lacks a name of the other, `load` fails.

A name with braces, like `page_{older,newer}`, makes one statement for each alternative in them.
Every `{DESC,ASC}` in the block's text becomes the alternative at the same position, which may be
empty.
"""

import re
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

_QUERIES = Path(__file__).parent / "queries"
_MARK = "-- name: "
_CHOICE = re.compile(r"\{([^{}\n]*,[^{}\n]*)\}")

T = TypeVar("T")


def load(statements: type[T], file: str) -> T:
    """Read the statements of `queries/FILE.sql` into the dataclass `statements`.

    Raises:
        LookupError: the file and the class do not have the same names.
    """
    assert is_dataclass(statements)
    statements_in_file = parse((_QUERIES / f"{file}.sql").read_text(encoding="utf-8"))
    names = {field.name for field in fields(statements)}
    if statements_in_file.keys() != names:
        different = ", ".join(sorted(statements_in_file.keys() ^ names))
        raise LookupError(f"{file}.sql and {statements.__name__} disagree about: {different}")
    return statements(**statements_in_file)


def parse(text: str) -> dict[str, str]:
    """`{name: statement}`. Each statement keeps its comment, so that server logs show both."""
    blocks = text.split(_MARK)[1:]
    statements = {}
    for block in chain.from_iterable(map(_alternatives_of, blocks)):
        name, _, body = block.partition("\n")
        if name.strip() in statements:
            raise LookupError(f"two statements are named {name.strip()}")
        statements[name.strip()] = f"{_MARK}{name}\n{body.strip()}"
    return statements


def name_of(sql: str) -> str:
    """The name of a loaded statement; the first word of any other."""
    if sql.startswith(_MARK):
        return sql[len(_MARK) :].partition("\n")[0].strip()
    return sql.split(maxsplit=1)[0]


def _alternatives_of(block: str) -> list[str]:
    """The block, once for each alternative in the braces of its name."""
    choice = _CHOICE.search(block.partition("\n")[0])
    if choice is None:
        return [block]
    count = len(choice[1].split(","))
    return [_CHOICE.sub(partial(_alternative_at, number), block) for number in range(count)]


def _alternative_at(number: int, braces: re.Match[str]) -> str:
    return braces[1].split(",")[number]
