"""Documents, made fit to run: parsed, measured, validated. Knows schemas, nothing of plans."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphql import (
    ASTValidationRule,
    DirectiveNode,
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLNamedType,
    ObjectValueNode,
    OperationDefinitionNode,
    OperationType,
    Undefined,
    ValidationContext,
    ValueNode,
    VariableNode,
    Visitor,
    parse,
    specified_rules,
    validate,
    value_from_ast_untyped,
    visit,
)
from strawberry.schema import Schema
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from engine.cache import LruCache
from engine.errors import Unsupported, located
from engine.limits import excess, refusal
from engine.result import Refused, Stage
from engine.roots import root_arguments
from engine.settings import EngineSettings
from engine.size import Measure
from engine.variables import InvalidVariables, Variables

if TYPE_CHECKING:
    from engine.plan import Plan


class OneOfRule(OneOfInputValidationRule):
    """Strawberry's own, which fails for a variable that is not declared where it looks."""

    def __init__(self, validation_context: ValidationContext) -> None:
        super().__init__(validation_context)
        self.variable_definitions = {}

    def validate_one_of(self, node: ObjectValueNode, type: GraphQLNamedType) -> None:  # noqa: A002
        with suppress(KeyError):  # other rules, or the coercion of the value, tell it
            super().validate_one_of(node, type)


RULES: tuple[type[ASTValidationRule], ...] = (*specified_rules, MaybeNullValidationRule, OneOfRule)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A valid document."""

    node: DocumentNode
    operations: Mapping[str | None, "Operation"]
    """By name; None is the one to run where none is named."""

    def operation(self, name: str | None) -> "Operation":
        """The operation to run.

        Raises Refused, worded as graphql-core words it.
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
        raise Refused(Stage.OPERATION, [GraphQLError(message)])


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of a valid document, with the plans made of it so far."""

    document: DocumentNode
    fragments: Mapping[str, FragmentDefinitionNode]
    node: OperationDefinitionNode
    kind: OperationType
    variables: Variables
    switches: tuple[str, ...]
    """The variables that @skip and @include look at: each combination has a plan of its own."""

    measure: Measure
    root_arguments: Mapping[str, list[ValueNode]]
    """What the fields of the root are given, by the name of the argument, skipped ones too."""
    plans: "LruCache[tuple[bool, ...], Plan | Unsupported]" = field(repr=False)

    @property
    def name(self) -> str | None:
        return self.node.name.value if self.node.name else None

    def given(self, argument: str, variables: Mapping[str, Any]) -> list[Any]:
        """What fields of the root are given for a leaf argument, before anything is run; nulls are
        left out. Nothing, if the variables do not fit: running it says what is wrong with them.
        """
        nodes = self.root_arguments.get(argument)
        if not nodes:
            return []
        try:
            coerced = self.variables.coerce(variables).coerced
        except InvalidVariables:
            return []
        values = (value_from_ast_untyped(node, coerced) for node in nodes)
        return [value for value in values if value is not None and value is not Undefined]

    def asks_for(self, field_name: str) -> bool:
        """Whether its document asks for fields of this name, at any depth."""
        return field_name in self.measure.written


def read(text: str, schema: Schema, settings: EngineSettings) -> Document:
    """The document in `text`.

    Raises Refused: PARSE, LIMITS or VALIDATION.
    """
    node = _parsed(text, settings)
    measure = Measure(node)
    if too_large := excess(node, measure, settings):
        raise Refused(Stage.LIMITS, too_large)
    if errors := _mistakes(node, schema, settings):
        raise Refused(Stage.VALIDATION, errors)
    return _document(node, measure, schema, settings)


def _parsed(text: str, settings: EngineSettings) -> DocumentNode:
    if len(text) > settings.max_characters:
        error = refusal(f"has {len(text)} characters", settings.max_characters)
        raise Refused(Stage.LIMITS, [error])
    try:
        return parse(
            text, max_lexical_tokens=settings.max_tokens, max_comments=settings.max_comments
        )
    except GraphQLError as error:
        raise Refused(Stage.PARSE, [error]) from error


def _mistakes(node: DocumentNode, schema: Schema, settings: EngineSettings) -> list[GraphQLError]:
    try:
        return validate(schema._schema, node, RULES, settings.max_errors)
    except Exception as error:  # of a scalar that was given a literal
        return [located(error)]


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
