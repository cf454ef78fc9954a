"""Checks the named queries, the functions and the tables of this tree."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pglast import ast, parse_plpgsql, parse_sql

from storage.postgres import sql
from storage.postgres.citus.placement import DISTRIBUTED, REFERENCE
from storage.postgres.migrate import function_texts
from tests.support.shards.declarations import declared
from tests.support.shards.nodes import descendants
from tests.support.shards.rules import Violation, check_in_function, check_query

_POSTGRES = Path(sql.__file__).parent

HOW_TO_PLACE = (
    "Add it to DISTRIBUTED, with the column of the user whose data it is, or to REFERENCE, in"
    " storage/postgres/citus/placement.py."
)


def violations() -> list[Violation]:
    """All violations of the tree."""
    return [*_queries(), *_functions(), *_tables()]


def queries() -> Iterator[tuple[str, str]]:
    """Each named query as `FILE.NAME` and its text."""
    for file in sorted((_POSTGRES / "queries").glob("*.sql")):
        for name, text in sql.parse(file.read_text(encoding="utf-8")).items():
            yield f"{file.stem}.{name}", text


def _queries() -> Iterator[Violation]:
    named = dict(queries())
    for name, text in named.items():
        yield from check_query(name, text)
        yield from check_replacement(name, text, named)


def check_replacement(name: str, text: str, named: Mapping[str, str]) -> Iterator[Violation]:
    """The violation of a statement for plain PostgreSQL without a replacement for Citus.

    `named`: the text of each named query.
    """
    declaration = declared(text)
    if declaration is None or not declaration.is_plain:
        return
    wanted = declaration.replacement or f"{name}_on_citus"
    other = declared(named.get(wanted, ""))
    if other is None or other.is_plain:
        advice = f"Write {wanted}, which Citus runs, and which returns the same rows."
        yield Violation(name, "replacement", f"nothing replaces it on Citus. {advice}")


def _functions() -> Iterator[Violation]:
    for name, text in sorted(function_texts().items()):
        yield from check_function(f"{name}()", text)


def check_function(name: str, text: str) -> Iterator[Violation]:
    """The violations of the statements in a function's body. A function that is declared for plain
    PostgreSQL has none."""
    declaration = declared(text)
    if declaration is not None and declaration.is_plain:
        return
    (statement,) = parse_sql(text)
    options = {option.defname: option.arg for option in statement.stmt.options or ()}
    parameters = {parameter.name for parameter in statement.stmt.parameters or ()}
    if options["language"].sval == "plpgsql":
        bodies = parse_plpgsql(text)
        known = frozenset(parameters | set(_names(bodies)))
        for body in _statements(bodies):
            yield from check_in_function(name, body, known)
    elif "as" in options:
        yield from check_in_function(name, options["as"][0].sval, frozenset(parameters))


def _statements(node: Any) -> Iterator[str]:
    """The statements and expressions in a parsed body of PL/pgSQL."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "PLpgSQL_expr":
                mode = value["parseMode"]
                if mode == 0:
                    yield value["query"]
                elif mode == 2:  # an expression
                    yield f"SELECT {value['query']}"
                else:  # an assignment
                    yield f"SELECT {value['query'].partition(':=')[2]}"
            else:
                yield from _statements(value)
    elif isinstance(node, list):
        for value in node:
            yield from _statements(value)


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "refname" in node:
            yield node["refname"]
        for value in node.values():
            yield from _names(value)
    elif isinstance(node, list):
        for value in node:
            yield from _names(value)


def _tables() -> Iterator[Violation]:
    for file in sorted((_POSTGRES / "migrations").glob("*.sql")):
        yield from check_tables(file.stem, file.read_text(encoding="utf-8"))


def check_tables(name: str, text: str) -> Iterator[Violation]:
    """The violations of the tables that a migration creates."""
    for statement in parse_sql(text):
        if not isinstance(statement.stmt, ast.CreateStmt):
            continue
        table = statement.stmt.relation.relname
        if table not in DISTRIBUTED and table not in REFERENCE:
            yield Violation(
                name, "unplaced_table", f"the table {table} has no placement. {HOW_TO_PLACE}"
            )
            continue
        column = DISTRIBUTED.get(table)
        for key in _unique_keys(statement.stmt):
            if column and column not in key:
                text = (
                    f"a unique key of {table} ({', '.join(key)}) does not contain its distribution"
                    f" column {column}. Add the column to the key."
                )
                yield Violation(name, "unique_key", text)


def _unique_keys(table: ast.CreateStmt) -> Iterator[list[str]]:
    for element in table.tableElts or ():
        for constraint in descendants(element, ast.Constraint):
            if constraint.contype.name in ("CONSTR_PRIMARY", "CONSTR_UNIQUE"):
                is_column = isinstance(element, ast.ColumnDef)
                yield [element.colname] if is_column else [key.sval for key in constraint.keys]
