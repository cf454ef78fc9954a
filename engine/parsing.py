"""Parses documents, checks their size and validates them."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from graphql import (
    DirectiveNode,
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    parse,
    visit,
)
from strawberry.schema import Schema

from engine.compiled import CompiledCache
from engine.cost_compiler import OperationCost
from engine.document import root_arguments
from engine.document_scan import scan
from engine.document_size import DocumentSize, size_errors
from engine.plan import Operation
from engine.result import RequestError, Stage
from engine.settings import EngineSettings
from engine.source import IndexedSource
from engine.validation import validation
from engine.variables import Variables


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A valid document."""

    operations: Mapping[str | None, Operation]
    """By name. None: the one to run if no name is given."""

    def operation(self, name: str | None) -> Operation:
        """The operation with this name.

        Raises RequestError with graphql-core's message.
        """
        operation = self.operations.get(name)
        if operation is not None:
            return operation
        if name is not None:
            message = f"Unknown operation named '{name}'."
        elif self.operations:
            message = "Must provide operation name if query contains multiple operations."
        else:
            message = "Must provide an operation."
        raise RequestError(Stage.OPERATION, [GraphQLError(message)])


def parsing(
    text: str, schema: Schema, settings: EngineSettings, compiled: CompiledCache
) -> Generator[None, None, Document]:
    """Parse and validate a document, in slices.

    Raises RequestError at stage PARSE, LIMITS or VALIDATION.
    """
    scan(text, settings)
    yield
    try:
        node = parse(IndexedSource(text))
    except GraphQLError as error:
        raise RequestError(Stage.PARSE, [error]) from error
    _unlink_tokens(node)
    yield
    size = DocumentSize(node, settings.schema_texts)
    if too_large := size_errors(node, size, settings):
        raise RequestError(Stage.LIMITS, too_large)
    yield
    yield from validation(schema._schema, node, settings)
    yield
    return _document(node, size, schema, settings, compiled)


def _document(
    node: DocumentNode,
    size: DocumentSize,
    schema: Schema,
    settings: EngineSettings,
    compiled: CompiledCache,
) -> Document:
    fragments = {
        definition.name.value: definition
        for definition in node.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    operations: dict[str | None, Operation] = {}
    condition_variables = _condition_variables(node)
    for definition in node.definitions:
        if isinstance(definition, OperationDefinitionNode):
            name = definition.name.value if definition.name else None
            variables = Variables(schema._schema, definition, settings.max_coerced_values)
            conditions = tuple(variables.names & condition_variables)
            operations[name] = Operation(
                document=node,
                fragments=fragments,
                node=definition,
                kind=definition.operation,
                variables=variables,
                conditions=conditions,
                size=size,
                field_names=size.field_counts.keys(),
                root_arguments=root_arguments(definition.selection_set, fragments),
                costs=OperationCost(
                    schema._schema, settings, compiled, fragments, definition, conditions
                ),
            )
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return Document(operations)


def _unlink_tokens(node: DocumentNode) -> None:
    """Remove the links between tokens, which only the parser needs.

    They are cycles, and keep the tokens to which no node refers.
    """
    token = node.loc.start_token if node.loc else None
    while token is not None:
        token.prev, token.next, token = None, None, token.next


def _condition_variables(node: DocumentNode) -> set[str]:
    directives = _Directives()
    visit(node, directives)
    directives.enter_leave_map.clear()  # otherwise a cycle, for the garbage collector
    return directives.variables


class _Directives(Visitor):
    """Collects the variables in arguments of directives."""

    def __init__(self) -> None:
        super().__init__()
        self.variables: set[str] = set()

    def enter_directive(self, directive: DirectiveNode, *_: object) -> None:
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                self.variables.add(argument.value.name.value)
