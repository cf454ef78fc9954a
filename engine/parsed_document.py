"""Documents that are parsed, but not validated."""

from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    ExecutableDefinitionNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    value_from_ast_untyped,
    visit,
)

from engine.compiled import CompiledCache
from engine.cost_compiler import OperationCost
from engine.document_size import DocumentSize
from engine.settings import EngineSettings


@dataclass(frozen=True, slots=True, eq=False)
class ParsedDocument:
    """A document within its limits, which may be invalid."""

    node: DocumentNode
    size: DocumentSize
    fragments: Mapping[str, FragmentDefinitionNode]
    costs: Mapping[str | None, OperationCost]
    """By the names of the operations; of operations with the same name the last one."""

    @property
    def field_names(self) -> Set[str]:
        """The names of all fields, at any depth."""
        return self.size.field_counts.keys()

    def cost(self, operation_name: str | None, variables: Mapping[str, Any]) -> int | None:
        """The cost of an operation, before the document is validated and the variables are
        coerced: it is exact if both are valid. None if it cannot be computed."""
        try:
            return self._operation_cost(operation_name).evaluate(
                self._variables(operation_name, variables)
            )
        except Exception:  # an invalid document may cause any: validation reports why
            return None

    def is_cost_compiled(self, operation_name: str | None, variables: Mapping[str, Any]) -> bool:
        """Whether the cost is compiled for these values of the conditions. False also if they are
        invalid or there is no such operation."""
        try:
            values = self._variables(operation_name, variables)
            return self._operation_cost(operation_name).is_compiled(values)
        except Exception:
            return False

    def _operation_cost(self, operation_name: str | None) -> OperationCost:
        if operation_name is None and len(self.costs) == 1:
            return next(iter(self.costs.values()))
        return self.costs[operation_name]

    def _variables(
        self, operation_name: str | None, variables: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The variables and their defaults. Raises ValueError for an invalid condition."""
        costs = self._operation_cost(operation_name)
        values: dict[str, Any] = {}
        for definition in costs.node.variable_definitions or ():
            name = definition.variable.name.value
            if name in variables:
                values[name] = variables[name]
            elif definition.default_value is not None:
                values[name] = value_from_ast_untyped(definition.default_value)
        if not all(isinstance(values.get(name), bool) for name in costs.conditions):
            raise ValueError("A condition is neither true nor false.")
        return values


def parsed_document(
    node: DocumentNode,
    size: DocumentSize,
    schema: GraphQLSchema,
    settings: EngineSettings,
    compiled: CompiledCache,
) -> ParsedDocument:
    """The document of a syntax tree."""
    fragments = {
        definition.name.value: definition
        for definition in node.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    directives = _directive_variables(node)
    costs: dict[str | None, OperationCost] = {}
    for definition in node.definitions:
        if isinstance(definition, OperationDefinitionNode):
            name = definition.name.value if definition.name else None
            declared = [one.variable.name.value for one in definition.variable_definitions or ()]
            used = directives.used_by(definition, fragments) if directives else ()
            conditions = tuple(dict.fromkeys(one for one in declared if one in used))
            costs[name] = OperationCost(
                schema, settings, compiled, fragments, definition, conditions
            )
    return ParsedDocument(node, size, fragments, costs)


def _directive_variables(node: DocumentNode) -> "_DirectiveVariables | None":
    if node.loc is not None and "@" not in node.loc.source.body:
        return None  # the usual case
    directives = _DirectiveVariables()
    visit(node, directives)
    directives.enter_leave_map.clear()  # breaks a reference cycle
    return directives


class _DirectiveVariables(Visitor):
    """Collects the variables in arguments of directives, and the spreads, by the operation or
    fragment that contains them."""

    def __init__(self) -> None:
        super().__init__()
        self._variables: defaultdict[int, set[str]] = defaultdict(set)
        self._spreads: defaultdict[int, set[str]] = defaultdict(set)
        self._definition = 0
        """The `id` of the definition that is visited."""

    def enter_operation_definition(self, node: OperationDefinitionNode, *_: object) -> None:
        self._definition = id(node)

    def enter_fragment_definition(self, node: FragmentDefinitionNode, *_: object) -> None:
        self._definition = id(node)

    def enter_fragment_spread(self, spread: FragmentSpreadNode, *_: object) -> None:
        self._spreads[self._definition].add(spread.name.value)

    def enter_directive(self, directive: DirectiveNode, *_: object) -> None:
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                self._variables[self._definition].add(argument.value.name.value)

    def used_by(
        self,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
    ) -> set[str]:
        """The variables in directives of the operation and its fragments."""
        used, spread = set[str](), set[str]()
        definitions: list[ExecutableDefinitionNode] = [operation]
        while definitions:
            definition = id(definitions.pop())
            used |= self._variables[definition]
            new = self._spreads[definition] - spread
            spread |= new
            definitions += [fragments[name] for name in new if name in fragments]
        return used
