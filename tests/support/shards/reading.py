"""Finds the tables of a parsed statement, and the values that their distribution columns equal.

Sources that one join combines form a group. Citus plans each group by itself: a CTE, a branch of a
UNION and an uncorrelated subquery become groups of their own.
"""

from collections.abc import Mapping
from typing import Any

from pglast import ast
from pglast.enums import A_Expr_Kind, BoolExprType, JoinType, SetOperation

from storage.postgres.citus.placement import DISTRIBUTED, REFERENCE
from tests.support.shards.declarations import PLAIN_FUNCTIONS
from tests.support.shards.nodes import (
    calls_any,
    children,
    descendants,
    has_chosen_call,
    has_simple_case,
    has_stable_call_of_column,
    has_volatile_call,
    is_mutable,
    plain,
)
from tests.support.shards.sources import FUNCTION, Equalities, Feature, Outputs, Scope, Source, Term


class Reading:
    """The sources, equalities and features of one statement.

    `variables`: the names that mean values: those of a function's parameters and variables.
    """

    def __init__(self, statement: ast.Node, variables: frozenset[str] = frozenset()) -> None:
        self.sources: list[Source] = []
        self.features: list[tuple[Feature, int]] = []
        self._variables = variables
        self._equal = Equalities()
        self._joined: dict[int, int] = {}
        self._groups = 0
        group = self._new_group()
        if calls_any(statement, PLAIN_FUNCTIONS):
            self.features.append((Feature.PLAIN_FUNCTION, group))
        self._read(statement, None, group)

    def group_of(self, number: int) -> int:
        while number in self._joined:
            number = self._joined[number]
        return number

    def values(self, source: Source) -> set[Term]:
        """The values that the distribution column of `source` equals."""
        return self._equal.values((source, source.column))

    def is_colocated(self, one: Source, other: Source) -> bool:
        return self._equal.has((one, one.column), (other, other.column))

    # Statements

    def _read(self, node: Any, parent: Scope | None, group: int, limited: bool = False) -> Outputs:
        scope = Scope(parent, group, limited)
        self._read_ctes(node, scope)
        match node:
            case ast.SelectStmt():
                return self._select(node, scope)
            case ast.InsertStmt():
                self._insert(node, scope)
            case ast.UpdateStmt() | ast.DeleteStmt():
                self._change(node, scope)
            case _:
                for name in descendants(node, ast.RangeVar):
                    self._add(scope, Source(name.relname, name.relname, self._new_group()))
                return {}
        returning = node.returningClause
        return self._outputs(returning.exprs if returning else None, scope)

    def _read_ctes(self, node: Any, scope: Scope) -> None:
        clause: Any = getattr(node, "withClause", None)
        for cte in clause.ctes if clause else ():
            if clause.recursive:
                scope.ctes[cte.ctename] = {}
            before = len(self.sources)
            outputs = self._read(cte.ctequery, scope, self._new_group())
            if clause.recursive:
                self.features += [(Feature.RECURSION, s.group) for s in self.sources[before:]]
            names = [name.sval for name in cte.aliascolnames or ()]
            scope.ctes[cte.ctename] = _renamed(outputs, names)

    def _select(self, node: ast.SelectStmt, scope: Scope) -> Outputs:
        if node.op != SetOperation.SETOP_NONE:
            sides = [self._read(side, scope, self._new_group()) for side in (node.larg, node.rarg)]
            return dict.fromkeys(sides[0])
        if node.targetList is None and node.valuesLists is None:
            self.features.append((Feature.EMPTY_SELECT, scope.group))
        for item in node.fromClause or ():
            self._from(item, scope)
        self._condition(node.whereClause, scope)
        if node.lockingClause and any(s.table in DISTRIBUTED for s in scope.sources):
            self.features.append((Feature.LOCK, scope.group))
        for part in (node.targetList, node.valuesLists, node.groupClause, node.havingClause,
                     node.sortClause, node.distinctClause, node.windowClause,
                     node.limitCount, node.limitOffset):  # fmt: skip
            self._expression(part, scope)
        return self._outputs(node.targetList, scope)

    def _insert(self, node: ast.InsertStmt, scope: Scope) -> None:
        target = self._target(node.relation, scope)
        columns = [column.name for column in node.cols or ()]
        outputs: list[Term | None] = []
        if isinstance(node.selectStmt, ast.SelectStmt):
            inner = self._read(node.selectStmt, scope, self._new_group())
            rows = node.selectStmt.valuesLists or ()
            outputs = [self._term(v, scope) for v in rows[0]] if rows else list(inner.values())
        if target.column:
            if target.column not in columns:
                self.features.append((Feature.UNPLACED, target.group))
            else:
                index = columns.index(target.column)
                self._equal.add((target, target.column), outputs[index] if outputs else None)
        if conflict := node.onConflictClause:
            self._expression((conflict.targetList, conflict.whereClause), scope)
            changed = (conflict.targetList, conflict.whereClause)
            self._check_functions(changed, target, scope)
            if self._is_placed(target) and is_mutable(changed):
                self.features.append((Feature.MUTABLE_CONFLICT, scope.group))
        self._check_returning(node, target, scope)

    def _change(self, node: Any, scope: Scope) -> None:
        target = self._target(node.relation, scope)
        for item in getattr(node, "fromClause", None) or getattr(node, "usingClause", None) or ():
            self._from(item, scope)
        settings = getattr(node, "targetList", None) or ()
        if target.column in {setting.name for setting in settings}:
            self.features.append((Feature.MOVED_ROW, target.group))
        self._condition(node.whereClause, scope)
        self._expression(settings, scope)
        self._check_functions((settings, node.whereClause), target, scope)
        self._check_returning(node, target, scope)

    def _target(self, relation: ast.RangeVar, scope: Scope) -> Source:
        alias = relation.alias.aliasname if relation.alias else relation.relname
        return self._add(scope, Source(alias, relation.relname, scope.group))

    def _check_functions(self, parts: Any, target: Source, scope: Scope) -> None:
        if not self._is_placed(target):
            return
        found = {
            Feature.VOLATILE: has_volatile_call(parts),
            Feature.STABLE_OF_COLUMN: has_stable_call_of_column(parts),
            Feature.CHOSEN_CALL: has_chosen_call(parts),
            Feature.SIMPLE_CASE: target.table in DISTRIBUTED and has_simple_case(parts),
        }
        self.features += [(feature, scope.group) for feature, is_found in found.items() if is_found]

    def _check_returning(self, node: Any, target: Source, scope: Scope) -> None:
        returned = node.returningClause.exprs if node.returningClause else None
        if self._is_placed(target) and is_mutable(returned):
            self.features.append((Feature.MUTABLE_RETURNING, scope.group))
        if target.table in DISTRIBUTED and has_simple_case(returned):
            self.features.append((Feature.SIMPLE_CASE, scope.group))

    def _is_placed(self, target: Source) -> bool:
        return target.table in DISTRIBUTED or target.table in REFERENCE

    # FROM

    def _from(self, item: Any, scope: Scope) -> list[Source]:
        match item:
            case ast.RangeVar():
                return [self._table(item, scope)]
            case ast.JoinExpr():
                return self._join(item, scope)
            case ast.RangeSubselect():
                limited = item.lateral and item.subquery.limitCount is not None
                inside = len(self.sources)
                outputs = self._read(item.subquery, scope, scope.group, limited)
                alias = item.alias.aliasname if item.alias else ""
                added = self._add(scope, Source(alias, None, scope.group, outputs))
                return [added, *(s for s in self.sources[inside:] if s.group == scope.group)]
            case ast.RangeFunction():
                self._expression(item.functions, scope)
                return [self._function(item, scope)]
        raise TypeError(f"an unknown entry of FROM: {item!r}")

    def _table(self, item: ast.RangeVar, scope: Scope) -> Source:
        alias = item.alias.aliasname if item.alias else item.relname
        at: Scope | None = scope
        while at is not None:
            if item.relname in at.ctes:
                cte = Source(alias, None, scope.group, at.ctes[item.relname], is_recurring=True)
                return self._add(scope, cte)
            at = at.parent
        is_reference = item.relname in REFERENCE
        table = Source(alias, item.relname, scope.group, is_recurring=is_reference)
        return self._add(scope, table)

    def _function(self, item: ast.RangeFunction, scope: Scope) -> Source:
        calls = [call for call, _ in item.functions if isinstance(call, ast.FuncCall)]
        arguments = [plain(argument) for call in calls for argument in call.args or ()]
        names = [name.sval for name in (item.alias.colnames if item.alias else None) or ()]
        if item.alias and not names:
            names = [item.alias.aliasname]
        each: Outputs = {
            name: ("each", argument.number) if isinstance(argument, ast.ParamRef) else None
            for name, argument in zip(names, arguments, strict=False)
        }
        alias = item.alias.aliasname if item.alias else ""
        function = Source(alias, FUNCTION, scope.group, each, is_recurring=True)
        return self._add(scope, function)

    def _join(self, item: ast.JoinExpr, scope: Scope) -> list[Source]:
        left, right = self._from(item.larg, scope), self._from(item.rarg, scope)
        optional = {
            JoinType.JOIN_LEFT: [(left, right)],
            JoinType.JOIN_RIGHT: [(right, left)],
            JoinType.JOIN_FULL: [(left, right), (right, left)],
        }.get(item.jointype, [])
        for outer, inner in optional:
            if any(s.column for s in inner) and not any(s.column for s in outer):
                self.features.append((Feature.OUTER_JOIN, scope.group))
        for name in item.usingClause or ():
            ends = [self._named(side, name.sval) for side in (left, right)]
            self._equal.add(*ends)
        self._condition(item.quals, scope)
        return left + right

    def _named(self, sources: list[Source], name: str) -> Term | None:
        for source in sources:
            if name in source.outputs:
                return source.outputs[name]
            if source.table:
                return (source, name)
        return None

    def _add(self, scope: Scope, source: Source) -> Source:
        scope.sources.append(source)
        self.sources.append(source)
        return source

    # Expressions

    def _condition(self, node: Any, scope: Scope) -> None:
        """Read a condition that holds for every row."""
        if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.AND_EXPR:
            for part in node.args:
                self._condition(part, scope)
            return
        if isinstance(node, ast.A_Expr) and node.name[-1].sval == "=":
            left, right = self._term(node.lexpr, scope), plain(node.rexpr)
            if node.kind == A_Expr_Kind.AEXPR_OP:
                self._equal.add(left, self._term(right, scope))
            elif node.kind == A_Expr_Kind.AEXPR_OP_ANY and isinstance(right, ast.ParamRef):
                self._bind(left, right.number)
        self._expression(node, scope)

    def _bind(self, term: Term | None, number: int) -> None:
        if term and isinstance(term[0], Source) and term[1] == term[0].column:
            term[0].arrays.add(number)

    def _expression(self, node: Any, scope: Scope) -> None:
        """Read the subqueries of an expression, and the groups that its columns join."""
        if isinstance(node, ast.SubLink):
            self._expression(node.testexpr, scope)
            self._read(node.subselect, scope, self._new_group())
            return
        if isinstance(node, ast.ColumnRef):
            self._term(node, scope)
        for child in children(node):
            self._expression(child, scope)

    def _term(self, node: Any, scope: Scope) -> Term | None:
        node = plain(node)
        match node:
            case ast.ParamRef():
                return ("parameter", node.number)
            case ast.A_Const():
                return ("constant", str(node.val))
            case ast.FuncCall() if node.funcname[-1].sval == "unnest":
                argument = plain(node.args[0])
                return ("each", argument.number) if isinstance(argument, ast.ParamRef) else None
            case ast.ColumnRef() if all(isinstance(f, ast.String) for f in node.fields):
                return self._column([f.sval for f in node.fields], scope)
        return None

    def _column(self, names: list[str], scope: Scope) -> Term | None:
        *alias, name = names
        at: Scope | None = scope
        limited = False
        while at is not None:
            for source in at.sources:
                if self._holds(source, alias, name, at):
                    self._cross(source, scope, limited)
                    return source.outputs.get(name) if source.outputs else (source, name)
            limited, at = limited or at.is_limited, at.parent
        is_value = ".".join(names) in self._variables or (alias and alias[0] in self._variables)
        return ("variable", ".".join(names)) if is_value else None

    def _holds(self, source: Source, alias: list[str], name: str, scope: Scope) -> bool:
        if alias:
            return source.alias == alias[-1]
        if name in self._variables and source.column != name:
            return False
        tables = [s for s in scope.sources if s.table and s.table != FUNCTION]
        return name in source.outputs or source.column == name or tables == [source]

    def _cross(self, source: Source, scope: Scope, limited: bool) -> None:
        """Record that a subquery uses a column of an outer source."""
        here, there = self.group_of(scope.group), self.group_of(source.group)
        if limited and source.is_recurring:
            self.features.append((Feature.LIMITED_LATERAL, scope.group))
        if here != there:
            self._joined[here] = there

    def _outputs(self, targets: Any, scope: Scope) -> Outputs:
        outputs: Outputs = {}
        for index, target in enumerate(targets or ()):
            value = plain(target.val)
            if isinstance(value, ast.ColumnRef) and isinstance(value.fields[-1], ast.A_Star):
                for source in scope.sources:
                    outputs |= source.outputs
                    if source.column:
                        outputs[source.column] = (source, source.column)
                continue
            named = value.fields[-1].sval if isinstance(value, ast.ColumnRef) else f"?{index}"
            outputs[target.name or named] = self._term(value, scope)
        return outputs

    def _new_group(self) -> int:
        self._groups += 1
        return self._groups


def _renamed(outputs: Mapping[str, Term | None], names: list[str]) -> Outputs:
    return dict(zip(names, outputs.values(), strict=False)) if names else dict(outputs)
