"""Walks the nodes of a parsed statement."""

from collections.abc import Iterator
from typing import Any

from pglast import ast

VOLATILE = frozenset({"clock_timestamp", "random", "gen_random_uuid", "nextval", "uuidv7"})
STABLE_OF_OURS = frozenset({"lane_of", "count_lanes"})
"""Functions of ours that read a table."""


def children(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple | list):
        yield from node
    elif isinstance(node, ast.Node):
        yield from (getattr(node, member) for member in node)


def descendants(node: Any, kind: Any) -> Iterator[Any]:
    """All nodes of one kind below `node`, itself included, in no order."""
    if isinstance(node, kind):
        yield node
    for child in children(node):
        yield from descendants(child, kind)


def plain(node: Any) -> Any:
    """A node without the casts around it."""
    while isinstance(node, ast.TypeCast):
        node = node.arg
    return node


def has_volatile_call(node: Any) -> bool:
    """Whether Citus refuses an UPDATE with this expression. It refuses stable functions only if
    their arguments are columns."""
    return any(
        call.funcname[-1].sval in VOLATILE
        or (call.funcname[-1].sval in STABLE_OF_OURS and any(descendants(call.args, ast.ColumnRef)))
        for call in descendants(node, ast.FuncCall)
    )
