"""Validation of documents by graphql-core's rules, in slices and with bounded work."""

import re
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeAlias

from graphql import (
    BREAK,
    SKIP,
    ASTValidationRule,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLInputType,
    GraphQLNamedType,
    GraphQLSchema,
    Node,
    ObjectValueNode,
    OverlappingFieldsCanBeMergedRule,
    ParallelVisitor,
    TypeInfo,
    TypeInfoVisitor,
    ValidationContext,
    ValueNode,
    ValuesOfCorrectTypeRule,
    Visitor,
    specified_rules,
    visit,
)
from graphql.language.visitor import EnterLeaveVisitor, VisitorAction
from graphql.pyutils import RefMap
from graphql.validation.validate import (
    FragmentNestingVisitor,
    ValidationAbortedError,
    query_document_keys_to_validate,
)
from graphql.validation.validation_context import (
    NodeWithSelectionSet,
    VariableUsage,
    VariableUsageVisitor,
)
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule

from engine.errors import ErrorCode, coded_error, error_at, locate_error
from engine.result import RequestError, Stage
from engine.settings import EngineSettings

NODES_PER_SLICE = 150
"""The nodes that one slice visits. All rules together take 5 to 20 µs for a node."""


class OneOfRule(OneOfInputValidationRule):
    """Strawberry's rule, which fails with KeyError for some undeclared variables."""

    def __init__(self, validation_context: ValidationContext) -> None:
        super().__init__(validation_context)
        self.variable_definitions = {}

    def validate_one_of(self, node: ObjectValueNode, type: GraphQLNamedType) -> None:  # noqa: A002
        with suppress(KeyError):  # other rules or the coercion report the variable
            super().validate_one_of(node, type)


class LocatedValuesRule(ValuesOfCorrectTypeRule):
    """graphql-core's rule, whose errors lack the locations of lists, objects and custom scalars."""

    _value: ValueNode | None = None

    def is_valid_value_node(
        self, node: ValueNode, input_type: GraphQLInputType | None
    ) -> VisitorAction:
        self._value = node
        return super().is_valid_value_node(node, input_type)

    def report_error(self, error: GraphQLError) -> None:
        if not error.locations and self._value is not None:
            error = error_at([self._value], error)
        super().report_error(error)


_DOLLAR = re.compile(r"\$")

RULES: tuple[type[ASTValidationRule], ...] = (
    *(LocatedValuesRule if rule is ValuesOfCorrectTypeRule else rule for rule in specified_rules),
    MaybeNullValidationRule,
    OneOfRule,
)

Container: TypeAlias = Node | tuple[Node, ...]
Child: TypeAlias = tuple[Node, Container, tuple[str | int, ...]]
"""A node, what contains it (a node, or a tuple of nodes), and the keys that lead to it from its
parent node."""

_Methods: TypeAlias = tuple[int, Callable[..., Any] | None, Callable[..., Any] | None]
"""The index of a rule, and its methods that enter and leave a kind of node."""

_TOO_MUCH_WORK = (
    "The document repeats fields or fragments too often to be validated. Request less at once."
)
_TOO_MANY_ERRORS = "Too many validation errors, error limit reached. Validation aborted."


def validation(
    schema: GraphQLSchema, document: DocumentNode, settings: EngineSettings
) -> Generator[None, None, None]:
    """Validate a document, in slices, with the errors of graphql-core's `validate`.

    Raises RequestError.
    """
    errors: list[GraphQLError] = []

    def are_messages_too_long() -> bool:
        return sum(len(error.message) for error in errors) > settings.max_error_characters

    def on_error(error: GraphQLError) -> None:
        if len(errors) >= settings.max_errors or are_messages_too_long():
            raise ValidationAbortedError(_TOO_MANY_ERRORS)
        errors.append(error)

    type_info = TypeInfo(schema)
    context = _Context(schema, document, type_info, on_error)
    rules = _Rules(_visitors(context, document, settings))
    visitor = TypeInfoVisitor(type_info, rules)
    try:
        yield from _Walk(visitor).visit(document)
    except ValidationAbortedError as aborted:
        if len(errors) < settings.max_errors and not are_messages_too_long():
            raise _too_much_work() from None
        errors.append(aborted.with_traceback(None))
    except RecursionError:
        raise _too_much_work() from None
    except Exception as error:  # raised by a custom scalar for a literal
        errors = [locate_error(error)]
    finally:
        # Breaks the reference cycles of a visitor and its methods.
        rules.enter_leave_map.clear()
        visitor.enter_leave_map.clear()
    if errors:
        raise RequestError(Stage.VALIDATION, errors)


def _visitors(
    context: ValidationContext, document: DocumentNode, settings: EngineSettings
) -> list[Visitor]:
    """Return a visitor for each rule, with graphql-core's budgets for merging fields lowered to
    `max_merge_steps`."""
    # graphql-core's own budgets stop a validation after 0.1 to 0.4 s.
    context._remaining_fragment_work = settings.max_merge_steps
    visitors: list[Visitor] = []
    fragments = {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    if fragments:
        visitors.append(FragmentNestingVisitor(fragments))
    for rule_class in RULES:
        rule = rule_class(context)
        if isinstance(rule, OverlappingFieldsCanBeMergedRule):
            rule.rule_context.remaining_complexity_budget = settings.max_merge_steps
        visitors.append(rule)
    return visitors


class _Context(ValidationContext):
    """Replaces graphql-core's context, with which validation takes twice as long.

    Its maps compare nodes by identity: graphql-core hashes the whole tree of an operation at each
    look-up. It looks for variables only where the text has dollar signs, and its visitors leave no
    reference cycles.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        document: DocumentNode,
        type_info: TypeInfo,
        on_error: Callable[[GraphQLError], None],
    ) -> None:
        super().__init__(schema, document, type_info, on_error)
        maps: Any = self  # declared as dictionaries
        maps._fragment_spreads = RefMap()
        maps._variable_usages = RefMap()
        maps._recursive_variable_usages = RefMap()
        assert document.loc is not None
        self._dollars = [found.start() for found in _DOLLAR.finditer(document.loc.source.body)]

    def get_variable_usages(self, node: NodeWithSelectionSet) -> list[VariableUsage]:
        usages = self._variable_usages.get(node)
        if usages is None:
            fragment = node if isinstance(node, FragmentDefinitionNode) else None
            collector = _VariableUsages(self._type_info, fragment, self._dollars)
            visitor = TypeInfoVisitor(self._type_info, collector)
            visit(node, visitor)
            collector.enter_leave_map.clear()
            visitor.enter_leave_map.clear()
            usages = self._variable_usages[node] = collector.usages
        return usages


class _VariableUsages(VariableUsageVisitor):
    """Skips fields without a dollar sign in their text, which have no variables."""

    def __init__(
        self,
        type_info: TypeInfo,
        fragment: FragmentDefinitionNode | None,
        dollars: Sequence[int],
    ) -> None:
        super().__init__(type_info, fragment)
        self._dollars = dollars

    def enter_field(self, node: FieldNode, *_: object) -> VisitorAction:
        assert node.loc is not None
        next_dollar = bisect_left(self._dollars, node.loc.start)
        is_inside = next_dollar < len(self._dollars) and self._dollars[next_dollar] < node.loc.end
        return None if is_inside else SKIP


class _Rules(ParallelVisitor):
    """Calls the methods of all rules for a node.

    graphql-core's own class looks up the methods of each rule for each kind of node, for each
    document: half of the time of a small one, and 1,000 objects that only the garbage collector
    frees. Here they are looked up once for each class of rules.
    """

    def get_enter_leave_for_kind(self, kind: str) -> EnterLeaveVisitor:
        found = self.enter_leave_map.get(kind)
        if found is None:
            methods = list(self._methods(kind))
            found = self.enter_leave_map[kind] = EnterLeaveVisitor(
                partial(_enter, methods, self.skipping) if methods else None,
                partial(_leave, methods, self.skipping) if methods else None,
            )
        return found

    def _methods(self, kind: str) -> Iterator[_Methods]:
        for index, rule in enumerate(self.visitors):
            rule_class: Any = type(rule)  # mypy checks `__hash__` of the instances instead
            enter, leave = _method_names(rule_class, kind)
            if enter or leave:
                yield (
                    index,
                    getattr(rule, enter) if enter else None,
                    getattr(rule, leave) if leave else None,
                )


@cache
def _method_names(rule: type[Visitor], kind: str) -> tuple[str | None, str | None]:
    """The methods of a class of rules that handle a kind of node."""
    enter = [name for name in (f"enter_{kind}", "enter") if hasattr(rule, name)]
    leave = [name for name in (f"leave_{kind}", "leave") if hasattr(rule, name)]
    return next(iter(enter), None), next(iter(leave), None)


def _enter(methods: Sequence[_Methods], skipping: list[Any], node: Node, *context: Any) -> None:
    """Call the methods that enter a node. A rule that returns SKIP ignores everything inside the
    node; a rule that returns BREAK ignores all further nodes."""
    for index, enter, _ in methods:
        if enter is not None and skipping[index] is None:
            result = enter(node, *context)
            if result is SKIP or result is False:
                skipping[index] = node
            elif result is BREAK or result is True:
                skipping[index] = BREAK


def _leave(methods: Sequence[_Methods], skipping: list[Any], node: Node, *context: Any) -> None:
    """Call the methods that leave a node, except those of rules that ignore it. A rule that skipped
    the node handles the nodes after it again."""
    for index, _, leave in methods:
        if skipping[index] is node:
            skipping[index] = None
        elif (
            leave is not None and skipping[index] is None and leave(node, *context) in (BREAK, True)
        ):
            skipping[index] = BREAK


class _Walk:
    """Visits all nodes of a document as graphql-core's `visit` does, with a pause after each slice.

    The visitor of all rules together neither changes nodes nor skips them. Iterative, because
    values may nest deeper than Python's stack.
    """

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._path: list[str | int] = []
        self._ancestors: list[Node | tuple[Node, ...]] = []
        self._open: list[tuple[Node, Container | None, Iterator[Child]]] = []
        """The nodes that were entered and not left, with their containers and further children."""

    def visit(self, document: DocumentNode) -> Generator[None, None, None]:
        """Enter and leave all nodes. Yields after every `NODES_PER_SLICE` nodes."""
        self._enter(document, None, ())
        visited = 1
        while self._open:
            child = next(self._open[-1][2], None)
            if child is None:
                self._leave()
                continue
            self._enter(*child)
            visited += 1
            if not visited % NODES_PER_SLICE:
                yield

    def _enter(self, node: Node, container: Container | None, keys: tuple[str | int, ...]) -> None:
        """Enter a node that is an attribute of another node, or an item of one."""
        self._path += keys
        if type(container) is tuple:
            self._ancestors.append(self._open[-1][0])
        enter = self._visitor.get_enter_leave_for_kind(node.kind).enter
        if enter:
            key = keys[-1] if keys else None
            enter(node, key, container, self._path, self._ancestors)
        self._open.append((node, container, iter(_children(node))))
        if container is not None:
            self._ancestors.append(container)

    def _leave(self) -> None:
        node, container, _ = self._open.pop()
        path, ancestors = self._path, self._ancestors
        if container is not None:
            ancestors.pop()
        leave = self._visitor.get_enter_leave_for_kind(node.kind).leave
        if leave:
            leave(node, path[-1] if path else None, container, path, ancestors)
        if container is not None:
            path.pop()
        if type(container) is tuple:
            path.pop()
            ancestors.pop()


def _children(node: Node) -> list[Child]:
    """The children that validation visits, in order."""
    children: list[Child] = []
    for name in query_document_keys_to_validate.get(node.kind, ()):
        value: Any = getattr(node, name, None)
        if type(value) is tuple:
            children += [(item, value, (name, index)) for index, item in enumerate(value)]
        elif value is not None:
            children.append((value, node, (name,)))
    return children


def _too_much_work() -> RequestError:
    error = coded_error(_TOO_MUCH_WORK, ErrorCode.DOCUMENT_LIMIT_EXCEEDED)
    return RequestError(Stage.LIMITS, [error])
