"""Reading documents: parse, check limits, validate."""

from contextlib import suppress

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

from engine.cache import LruCache
from engine.document import Document, Operation
from engine.errors import ErrorCode, coded, located
from engine.limits import excess, rejection
from engine.result import RequestError, Stage
from engine.roots import root_arguments
from engine.settings import EngineSettings
from engine.size import Measure
from engine.variables import Variables


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


def read(text: str, schema: Schema, settings: EngineSettings) -> Document:
    """The parsed and validated document in `text`.

    Raises RequestError at stage PARSE, LIMITS or VALIDATION.
    """
    node = _parsed(text, settings)
    measure = Measure(node, settings.schema_texts)
    if too_large := excess(node, measure, settings):
        raise RequestError(Stage.LIMITS, too_large)
    if errors := _mistakes(node, schema, settings):
        if _is_too_much_work(errors, settings):
            raise RequestError(
                Stage.LIMITS, [coded(_TOO_MUCH_WORK, ErrorCode.DOCUMENT_LIMIT_EXCEEDED)]
            )
        raise RequestError(Stage.VALIDATION, errors)
    return _document(node, measure, schema, settings)


def _parsed(text: str, settings: EngineSettings) -> DocumentNode:
    if len(text) > settings.max_characters:
        error = rejection(f"has {len(text)} characters", settings.max_characters)
        raise RequestError(Stage.LIMITS, [error])
    try:
        return parse(
            text, max_lexical_tokens=settings.max_tokens, max_comments=settings.max_comments
        )
    except GraphQLError as error:
        raise RequestError(Stage.PARSE, [error]) from error


def _mistakes(node: DocumentNode, schema: Schema, settings: EngineSettings) -> list[GraphQLError]:
    try:
        return validate(schema._schema, node, RULES, settings.max_errors)
    except Exception as error:  # raised by a custom scalar for a literal
        return [located(error)]


def _is_too_much_work(errors: list[GraphQLError], settings: EngineSettings) -> bool:
    """Whether graphql-core aborted validation with fewer errors than it may list."""
    return isinstance(errors[-1], ValidationAbortedError) and len(errors) <= settings.max_errors


def _document(
    node: DocumentNode,
    measure: Measure,
    schema: Schema,
    settings: EngineSettings,
) -> Document:
    fragments = {
        definition.name.value: definition
        for definition in node.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    operations: dict[str | None, Operation] = {}
    switches = _switches(node)
    for definition in node.definitions:
        if isinstance(definition, OperationDefinitionNode):
            name = definition.name.value if definition.name else None
            variables = Variables(schema._schema, definition)
            operations[name] = Operation(
                node,
                fragments,
                definition,
                definition.operation,
                variables,
                tuple(variables.names & switches),
                measure,
                root_arguments(definition.selection_set, fragments),
                LruCache(entries=settings.plans_per_operation),
            )
    if len(operations) == 1:
        operations[None] = next(iter(operations.values()))
    return Document(node, operations)


def _switches(node: DocumentNode) -> set[str]:
    found: set[str] = set()

    class Directives(Visitor):
        def enter_directive(self, directive: DirectiveNode, *_: object) -> None:
            for argument in directive.arguments or ():
                if isinstance(argument.value, VariableNode):
                    found.add(argument.value.name.value)

    visit(node, Directives())
    return found
