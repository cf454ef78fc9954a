"""The one place that writes Python: columns become rows. Knows response keys and nothing else.

A generated dict display builds a row of four in 0.13 µs, `dict(zip(keys, cells))` in 0.33 µs
(Python 3.11), and this is the innermost loop of every answer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = Sequence[Any]
Table = list[dict[str, Any]]
BuildRows = Callable[..., Table]


def row_builder(keys: tuple[str, ...], constants: Mapping[str, str | None]) -> BuildRows:
    """A function of (rows, column, column, …) that gives one dict for each row.

    `keys` are all response keys in order; those in `constants` have the same value in every row,
    each other one takes its cells from the next column.

    >>> row_builder(("id", "kind"), {"kind": "User"})([..., ...], ["1", "2"])
    [{'id': '1', 'kind': 'User'}, {'id': '2', 'kind': 'User'}]
    """
    cells = [f"c{index}" for index, key in enumerate(keys) if key not in constants]
    names = iter(cells)
    items = [
        f"{key!r}: {constants[key]!r}" if key in constants else f"{key!r}: {next(names)}"
        for key in keys
    ]
    columns = ", ".join(f"{cell}s" for cell in cells)
    display = "{" + ", ".join(items) + "}"
    if len(cells) > 1:
        loop = f"for {', '.join(cells)} in zip({columns})"
    else:
        loop = f"for {cells[0]} in {columns}" if cells else "for _ in rows"
    # Keys are GraphQL names and constants are type names: letters, digits and underscores.
    source = f"lambda rows{', ' + columns if cells else ''}: [{display} {loop}]"
    return eval(source, {})  # type: ignore[no-any-return]  # noqa: S307
