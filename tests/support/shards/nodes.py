"""Walks the nodes of a parsed statement."""

from collections.abc import Container, Iterator
from typing import Any

from pglast import ast

VOLATILE = frozenset({"clock_timestamp", "random", "gen_random_uuid", "nextval", "uuidv7"})
TIMES = frozenset({"now", "transaction_timestamp", "statement_timestamp"})
"""Functions that return the time. `current_timestamp` and similar keywords also do."""
STABLE = TIMES | {
    "age", "concat", "concat_ws", "current_setting", "date_part", "date_trunc", "extract", "format",
    "json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object",
    "make_timestamptz", "to_char", "to_jsonb",
}  # fmt: skip
"""The functions that PostgreSQL marks as stable and a statement could use."""
KITH_STABLE = frozenset({"lane_of", "count_lanes"})
"""Functions of Kith that read a table."""


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


def calls_any(node: Any, functions: Container[str]) -> bool:
    """Whether a statement or expression calls one of the functions."""
    return any(call.funcname[-1].sval in functions for call in descendants(node, ast.FuncCall))


def has_volatile_call(node: Any) -> bool:
    """Whether Citus rejects an UPDATE with this expression. It rejects stable functions only if
    their arguments are columns."""
    return any(
        call.funcname[-1].sval in VOLATILE
        or (call.funcname[-1].sval in KITH_STABLE and any(descendants(call.args, ast.ColumnRef)))
        for call in descendants(node, ast.FuncCall)
    )


def has_stable_call_of_column(node: Any) -> bool:
    """Whether a stable function has a column in its arguments, or a column is added to a time."""
    calls = any(
        call.funcname[-1].sval in STABLE and _has_column(call.args)
        for call in _without_subqueries(node, ast.FuncCall)
    )
    return calls or any(
        expression.name[-1].sval in ("+", "-")
        and (
            (_is_time(expression.lexpr) and _has_column(expression.rexpr))
            or (_is_time(expression.rexpr) and _has_column(expression.lexpr))
        )
        for expression in _without_subqueries(node, ast.A_Expr)
    )


def has_chosen_call(node: Any) -> bool:
    """Whether a CASE or COALESCE has a function that is not immutable."""
    return any(map(is_mutable, _without_subqueries(node, ast.CaseExpr | ast.CoalesceExpr)))


def is_mutable(node: Any) -> bool:
    """Whether an expression has a function that is not immutable, in other places than a
    subquery."""
    return any(_without_subqueries(node, ast.SQLValueFunction)) or any(
        call.funcname[-1].sval in TIMES | VOLATILE | KITH_STABLE
        or (call.funcname[-1].sval in STABLE and _has_column(call.args))
        for call in _without_subqueries(node, ast.FuncCall)
    )


def has_simple_case(node: Any) -> bool:
    """Whether there is a CASE that compares one expression with several."""
    return any(case.arg is not None for case in _without_subqueries(node, ast.CaseExpr))


def _without_subqueries(node: Any, kind: Any) -> Iterator[Any]:
    """The nodes of one kind below `node`, itself included, without those of its subqueries."""
    if isinstance(node, ast.SubLink):
        return
    if isinstance(node, kind):
        yield node
    for child in children(node):
        yield from _without_subqueries(child, kind)


def _has_column(node: Any) -> bool:
    return any(_without_subqueries(node, ast.ColumnRef))


def _is_time(node: Any) -> bool:
    node = plain(node)
    if isinstance(node, ast.A_Expr) and node.name[-1].sval in ("+", "-"):
        return _is_time(node.lexpr) or _is_time(node.rexpr)
    return isinstance(node, ast.SQLValueFunction) or (
        isinstance(node, ast.FuncCall) and node.funcname[-1].sval in TIMES
    )
