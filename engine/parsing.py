"""Parses documents, checks their size and validates them."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from graphql import DocumentNode, GraphQLError, GraphQLSchema

from engine.compiled import CompiledCache
from engine.document import root_argument_names
from engine.document_scan import scan
from engine.document_size import DocumentSize, size_errors
from engine.parsed_document import ParsedDocument, parsed_document
from engine.parser import parse
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
    text: str, schema: GraphQLSchema, settings: EngineSettings, compiled: CompiledCache
) -> Generator[None, None, ParsedDocument]:
    """Parse a document and check its size, in slices.

    Raises RequestError at stage PARSE or LIMITS.
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
    return parsed_document(node, size, schema, settings, compiled)


def validating(
    parsed: ParsedDocument, schema: GraphQLSchema, settings: EngineSettings
) -> Generator[None, None, Document]:
    """Validate a parsed document, in slices.

    Raises RequestError at stage LIMITS or VALIDATION.
    """
    yield from validation(schema, parsed.node, settings)
    yield
    return _document(parsed, schema, settings)


def _document(parsed: ParsedDocument, schema: GraphQLSchema, settings: EngineSettings) -> Document:
    operations: dict[str | None, Operation] = {}
    for name, costs in parsed.costs.items():
        definition = costs.node
        operations[name] = Operation(
            document=parsed.node,
            fragments=parsed.fragments,
            node=definition,
            kind=definition.operation,
            variables=Variables(schema, definition, settings, costs.conditions),
            conditions=costs.conditions,
            size=parsed.size,
            field_names=parsed.field_names,
            root_argument_names=root_argument_names(definition.selection_set, parsed.fragments),
            costs=costs,
        )
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return Document(operations)


def _unlink_tokens(node: DocumentNode) -> None:
    """Remove the links between tokens, which only the parser needs.

    The links are reference cycles, and keep tokens in memory to which no node refers.
    """
    token = node.loc.start_token if node.loc else None
    while token is not None:
        token.prev, token.next, token = None, None, token.next
