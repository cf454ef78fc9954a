"""From text to a judged document, once per text. Knows the schema's rules, runs nothing."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphql import (
    ASTValidationRule,
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    parse,
    specified_rules,
    validate,
)
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule

from gateway.graphql_limits import DocumentLimits, require_within
from gateway.graphql_request import GraphQLRequest, NotReadOnly, RequestRefused

# Strawberry's own rule for one-of inputs is left out: it raises KeyError for a variable that the
# operation does not declare, and its inputs check the same when they are coerced.
RULES: tuple[type[ASTValidationRule], ...] = (*specified_rules, MaybeNullValidationRule)
ERRORS_MAX = 20


@dataclass(frozen=True, slots=True)
class Document:
    """A document that passed validation, and its operations by name ("" for the nameless)."""

    ast: DocumentNode
    operations: Mapping[str, OperationDefinitionNode]

    def operation(self, request: GraphQLRequest) -> OperationDefinitionNode:
        """The operation that the request means.

        Raises RequestRefused where that is open or unknown, NotReadOnly for a mutation that came
        as a read.
        """
        operation = self._chosen(request.operation_name)
        if operation.operation is OperationType.SUBSCRIPTION:
            raise _unresolved("Subscriptions are not served over this transport.")
        if request.read_only and operation.operation is not OperationType.QUERY:
            error = GraphQLError("A GET request reads: send mutations by POST.")
            raise NotReadOnly("METHOD_NOT_ALLOWED", [error])
        return operation

    def _chosen(self, name: str | None) -> OperationDefinitionNode:
        if name is None:
            if len(self.operations) == 1:
                return next(iter(self.operations.values()))
            raise _unresolved("The document has several operations: say which in `operationName`.")
        if name not in self.operations:
            raise _unresolved(f"The document has no operation named {name[:100]!r}.")
        return self.operations[name]


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Bounds of the cache of judged documents. A character costs about 150 bytes as a tree."""

    documents_max: int = 1_000
    chars_max: int = 500_000


@dataclass(slots=True)
class Documents:
    """Parses and validates, and remembers what passed: the least recently used go first.

    What was refused is not remembered: it is cheap to refuse again, and anyone could fill the
    cache with it.
    """

    schema: GraphQLSchema
    limits: DocumentLimits = field(default_factory=DocumentLimits)
    cache_limits: CacheLimits = field(default_factory=CacheLimits)
    _known: OrderedDict[str, Document] = field(default_factory=OrderedDict)
    _chars: int = 0

    def of(self, query: str) -> Document:
        """The document of this text. Raises RequestRefused where it cannot be parsed or run."""
        known = self._known.get(query)
        if known is not None:
            self._known.move_to_end(query)
            return known
        document = self._judged(query)
        self._remember(query, document)
        return document

    def _judged(self, query: str) -> Document:
        ast = self._parsed(query)
        require_within(ast, self.limits)
        errors = validate(self.schema, ast, RULES, ERRORS_MAX)
        if errors:
            raise RequestRefused("GRAPHQL_VALIDATION_FAILED", errors)
        operations = {
            node.name.value if node.name else "": node
            for node in ast.definitions
            if isinstance(node, OperationDefinitionNode)
        }
        if not operations:
            raise _unresolved("The document has no operation.")
        return Document(ast, operations)

    def _parsed(self, query: str) -> DocumentNode:
        try:
            return parse(
                query,
                max_lexical_tokens=self.limits.tokens_max,
                max_comments=self.limits.comments_max,
                max_source_length=self.limits.chars_max,
            )
        except GraphQLSyntaxError as error:
            raise RequestRefused("GRAPHQL_PARSE_FAILED", [error]) from None

    def _remember(self, query: str, document: Document) -> None:
        self._known[query] = document
        self._chars += len(query)
        limits = self.cache_limits
        while len(self._known) > limits.documents_max or self._chars > limits.chars_max:
            forgotten, _ = self._known.popitem(last=False)
            self._chars -= len(forgotten)


def _unresolved(message: str) -> RequestRefused:
    return RequestRefused("OPERATION_RESOLUTION_FAILED", [GraphQLError(message)])
