"""Check whether a statement can run on Citus, on the shards that it declares."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from pglast import parse_sql
from pglast.parser import ParseError

from tests.support.shards.declarations import Declaration, declared
from tests.support.shards.reading import Reading
from tests.support.shards.sources import Feature, Source

HOW_TO_DECLARE = (
    "Add a line `-- shard: $1` (each table has `COLUMN = $1`), `-- shard: $1[]` (each has"
    " `COLUMN = ANY ($1)`), `-- shard: fan-out` (all shards) or `-- shard: local` (no distributed"
    " table), or `-- shard: plain` (another replaces it on Citus)."
    " storage/postgres/citus/placement.py has each table's COLUMN."
)

ADVICE = {
    Feature.EMPTY_SELECT: "Write `SELECT 1`, or `SELECT true`.",
    Feature.LOCK: "Lock the rows of one user (`COLUMN = $n`), or the rows that a DELETE or UPDATE"
    " finds, shard by shard.",
    Feature.LIMITED_LATERAL: "Drive it from a distributed table on its distribution column, and"
    " write a UNION ALL of index ranges instead of unnest(kinds).",
    Feature.OUTER_JOIN: "Citus would copy the whole table to one node. Read it with"
    " `COLUMN = ANY ($n)`, and add what is missing in Python.",
    Feature.RECURSION: "Bind it to one user, or read in steps from Python.",
    Feature.VOLATILE: "Citus refuses it in an UPDATE, a DELETE and ON CONFLICT DO UPDATE. Pass the"
    " value as a parameter, or select it in the FROM list.",
    Feature.STABLE_OF_COLUMN: "Citus refuses it. Pass the value as a parameter, or compare instead"
    " of computing: `column < now() - ...`.",
    Feature.CHOSEN_CALL: "Citus refuses it. Select the time in the FROM list, in a MATERIALIZED"
    " CTE, or pass it as a parameter.",
    Feature.MUTABLE_CONFLICT: "Citus refuses it. Select it as a column of the INSERT, and write"
    " `excluded.COLUMN`.",
    Feature.MUTABLE_RETURNING: "Citus refuses it. Select it in a statement around the change.",
    Feature.SIMPLE_CASE: "Citus sends another expression to the shard, which fails there. Write"
    " `CASE WHEN x = ...`.",
    Feature.MOVED_ROW: "A row cannot move to another shard. Delete it and insert another.",
    Feature.PLAIN_FUNCTION: "Declare `-- shard: plain`, and write NAME_on_citus without it, or name"
    " the query that Citus gets instead: `-- shard: plain (FILE.NAME)`.",
    Feature.UNPLACED: "Name the distribution column in the INSERT's list of columns.",
}

_ANYWHERE = {
    Feature.EMPTY_SELECT, Feature.VOLATILE, Feature.STABLE_OF_COLUMN, Feature.CHOSEN_CALL,
    Feature.MUTABLE_CONFLICT, Feature.MUTABLE_RETURNING, Feature.SIMPLE_CASE, Feature.MOVED_ROW,
    Feature.UNPLACED, Feature.PLAIN_FUNCTION,
}  # fmt: skip
"""Rejected even in a statement of one user. The others are rejected in groups on several shards."""


@dataclass(frozen=True, slots=True)
class Violation:
    """`rule` names the rule; `text` says what is wrong and what to write instead."""

    statement: str
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.statement}: {self.text}"


def check_query(name: str, sql: str) -> list[Violation]:
    """The violations of a named query."""
    declaration = declared(sql)
    if declaration is None:
        return [Violation(name, "declaration", f"it declares no shard. {HOW_TO_DECLARE}")]
    if declaration.is_plain:
        return []
    try:
        statements = parse_sql(sql)
    except ParseError as error:
        return [Violation(name, "syntax", f"PostgreSQL cannot parse it: {error}.")]
    return [
        violation
        for statement in statements
        for violation in _check(name, Reading(statement.stmt), declaration)
    ]


def check_in_function(name: str, sql: str, variables: frozenset[str]) -> list[Violation]:
    """The violations of one statement of a function: each table must be bound to one variable."""
    readings = [Reading(statement.stmt, variables) for statement in parse_sql(sql)]
    return [violation for reading in readings for violation in _check(name, reading, None)]


def _check(name: str, reading: Reading, declaration: Declaration | None) -> Iterator[Violation]:
    groups: defaultdict[int, list[Source]] = defaultdict(list)
    for source in reading.sources:
        if source.column:
            groups[reading.group_of(source.group)].append(source)
    single = {
        group for group, sources in groups.items() if _is_single(reading, sources, declaration)
    }
    for feature, group in dict.fromkeys(reading.features):
        # A group without a distributed table is a part of no task.
        if feature in _ANYWHERE or (
            reading.group_of(group) in groups and reading.group_of(group) not in single
        ):
            text = f"it has {feature.value}. {ADVICE[feature]}"
            yield Violation(name, feature.name.lower(), text)
    for group, sources in groups.items():
        if group not in single:
            yield from _check_joins(name, reading, sources)
        for source in sources:
            yield from _check_shard(name, reading, source, declaration)


def _is_single(reading: Reading, sources: list[Source], declaration: Declaration | None) -> bool:
    """Whether one value places all rows of a group."""
    singles = declaration.singles if declaration else frozenset()
    values = [
        {v for v in reading.values(source) if v[0] in ("parameter", "variable", "constant")}
        | {("parameter", number) for number in source.arrays & singles}
        for source in sources
    ]
    return bool(set.intersection(*values))


def _check_joins(name: str, reading: Reading, sources: list[Source]) -> Iterator[Violation]:
    for one, other in combinations(sources, 2):
        if not reading.is_colocated(one, other):
            yield Violation(
                name,
                "join",
                f"it joins {_named(one)} and {_named(other)} off their distribution columns. Join"
                f" them on {one.alias}.{one.column} = {other.alias}.{other.column}, or read each"
                " in a MATERIALIZED CTE or a statement of its own.",
            )
            return


def _check_shard(
    name: str, reading: Reading, source: Source, declaration: Declaration | None
) -> Iterator[Violation]:
    column = f"{source.alias}.{source.column}"
    values = reading.values(source)
    if declaration is None:
        if not any(v[0] in ("parameter", "variable", "constant") for v in values):
            text = (
                f"{_named(source)} is not bound to one user. Add `{column} = VARIABLE`, and read"
                " each user in a statement of its own."
            )
            yield Violation(name, "shard", text)
        return
    if declaration.is_local:
        error = f"it is declared local and reads {_named(source)}, which is distributed."
        text = f"{error} {HOW_TO_DECLARE}"
        yield Violation(name, "shard", text)
    elif not declaration.is_fan_out and not _is_bound(source, values, declaration):
        wanted = [f"`{column} = ${n}`" for n in sorted(declaration.users)]
        wanted += [f"`{column} = ANY (${n})`" for n in sorted(declaration.arrays)]
        text = (
            f"{_named(source)} is not bound to the declared shard, so it would run everywhere. Add"
            f" {' or '.join(wanted)}, or declare `-- shard: fan-out`."
        )
        yield Violation(name, "shard", text)


def _is_bound(source: Source, values: set[tuple[object, ...]], declaration: Declaration) -> bool:
    users = {("parameter", number) for number in declaration.users}
    each = {("each", number) for number in declaration.arrays}
    has_value = any(value in users or value in each or value[0] == "constant" for value in values)
    return has_value or bool(source.arrays & declaration.arrays)


def _named(source: Source) -> str:
    return f"{source.table} {source.alias}" if source.alias != source.table else source.alias
