"""Parses documents, checks their size and validates them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from graphql import (
    ASTValidationRule,
    DirectiveNode,
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLNamedType,
    ObjectValueNode,
    OperationDefinitionNode,
    ValidationContext,
    VariableNode,
    Visitor,
    parse,
    specified_rules,
    validate,
    visit,
)
from graphql.validation.validate import ValidationAbortedError
from strawberry.schema import Schema
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from engine.cost_compiler import OperationCost
from engine.document import root_arguments
from engine.document_size import DocumentSize, limit_error, size_errors
from engine.errors import ErrorCode, coded_error, locate_error
from engine.plan import Operation
from engine.result import RequestError, Stage
from engine.settings import EngineSettings
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


class OneOfRule(OneOfInputValidationRule):
    """Strawberry's rule, which fails with KeyError for some undeclared variables."""

    def __init__(self, validation_context: ValidationContext) -> None:
        super().__init__(validation_context)
        self.variable_definitions = {}

    def validate_one_of(self, node: ObjectValueNode, type: GraphQLNamedType) -> None:  # noqa: A002
        with suppress(KeyError):  # other rules or the coercion report the variable
            super().validate_one_of(node, type)


_TOO_MUCH_WORK = (
    "The document repeats fields or fragments too often to be validated. Request less at once."
)

RULES: tuple[type[ASTValidationRule], ...] = (*specified_rules, MaybeNullValidationRule, OneOfRule)


def parse_document(text: str, schema: Schema, settings: EngineSettings) -> Document:
    """The parsed and validated document in `text`.

    Raises RequestError at stage PARSE, LIMITS or VALIDATION.
    """
    node = _parsed(text, settings)
    size = DocumentSize(node, settings.schema_texts)
    if too_large := size_errors(node, size, settings):
        raise RequestError(Stage.LIMITS, too_large)
    if errors := _validation_errors(node, schema, settings):
        if _is_too_much_work(errors, settings):
            raise RequestError(
                Stage.LIMITS, [coded_error(_TOO_MUCH_WORK, ErrorCode.DOCUMENT_LIMIT_EXCEEDED)]
            )
        raise RequestError(Stage.VALIDATION, errors)
    return _document(node, size, schema, settings)


def _parsed(text: str, settings: EngineSettings) -> DocumentNode:
    if len(text) > settings.max_characters:
        error = limit_error(f"has {len(text)} characters", settings.max_characters)
        raise RequestError(Stage.LIMITS, [error])
    try:
        return parse(
            text, max_lexical_tokens=settings.max_tokens, max_comments=settings.max_comments
        )
    except GraphQLError as error:
        raise RequestError(Stage.PARSE, [error]) from error


def _validation_errors(
    node: DocumentNode, schema: Schema, settings: EngineSettings
) -> list[GraphQLError]:
    try:
        return validate(schema._schema, node, RULES, settings.max_errors)
    except Exception as error:  # raised by a custom scalar for a literal
        return [locate_error(error)]


def _is_too_much_work(errors: list[GraphQLError], settings: EngineSettings) -> bool:
    """Whether graphql-core aborted validation with fewer errors than it may list."""
    return isinstance(errors[-1], ValidationAbortedError) and len(errors) <= settings.max_errors


def _document(
    node: DocumentNode, size: DocumentSize, schema: Schema, settings: EngineSettings
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
            variables = Variables(schema._schema, definition)
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
                costs=OperationCost(schema._schema, settings, fragments, definition, conditions),
            )
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return Document(operations)


def _condition_variables(node: DocumentNode) -> set[str]:
    found: set[str] = set()

    class Directives(Visitor):
        def enter_directive(self, directive: DirectiveNode, *_: object) -> None:
            for argument in directive.arguments or ():
                if isinstance(argument.value, VariableNode):
                    found.add(argument.value.name.value)

    visit(node, Directives())
    return found
