"""Runs the use case of a mutation and converts its result into a payload."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar, cast

from graph.consistency import joined, write_token
from graph.edge import UserId
from graph.errors import BadInput, KithError
from graph.outcome import Outcome
from graph.receipt import KeyReused
from graph.relation import column_of
from resolvers import relationship
from resolvers.relationship import Change, Result
from resolvers.scope import Scope
from schema import arguments
from schema.context import Info, scope_of
from schema.inputs import (
    ChangeRelationshipsInput,
    RelationshipAction,
    RelationshipChangeInput,
    UndoRelationshipChangeInput,
    UserInput,
)
from schema.outcomes import (
    ChangeRelationshipsOutcome,
    RelationshipOutcome,
    UndoRelationshipChangeOutcome,
)
from schema.payload import (
    ChangeRelationshipsPayload,
    RelationshipChange,
    RelationshipPayload,
    UndoRelationshipChangePayload,
)
from schema.requests import action_of, idempotency_key
from schema.results import INPUT, rejection_fields, result_fields
from schema.rows import ViewerRow, relation_rows
from schema.user_error import UserError, invalid_input, rejections
from schema.viewer import Viewer

P = TypeVar("P", bound=RelationshipPayload)


async def changed(
    info: Info,
    given: UserInput,
    action: RelationshipAction,
    payload: Callable[..., P],
    outcomes: type[Enum],
) -> P:
    """Return the payload of a mutation that applies one action to one user."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    fields: dict[str, Any]
    try:
        change = _change(scope, given, action)
        key = idempotency_key(given.idempotency_key)
    except BadInput as bad:
        fields = _rejection_fields(bad, INPUT, outcomes)
    else:
        result = await relationship.change(scope, *change, key)
        fields = _result_fields(viewer, result, INPUT, outcomes)
        fields["consistency_token"] = _token([result])
    return payload(
        viewer=ViewerRow(viewer),
        client_mutation_id=arguments.given(given.client_mutation_id),
        **fields,
    )


async def undone(info: Info, given: UndoRelationshipChangeInput) -> UndoRelationshipChangePayload:
    """Return the payload of `undoRelationshipChange`."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    try:
        key = idempotency_key(given.idempotency_key)
    except BadInput as bad:
        fields = _rejection_fields(bad, INPUT, UndoRelationshipChangeOutcome)
    else:
        result = await relationship.undo(scope, given.undo_token, key)
        fields = _result_fields(viewer, result, INPUT, UndoRelationshipChangeOutcome)
        fields["consistency_token"] = _token([result])
    return UndoRelationshipChangePayload(
        viewer=cast("Viewer", ViewerRow(viewer)),
        client_mutation_id=arguments.given(given.client_mutation_id),
        **fields,
    )


async def changed_many(info: Info, given: ChangeRelationshipsInput) -> ChangeRelationshipsPayload:
    """Return the payload of `changeRelationships`."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    changes: list[Any] = []
    errors, token = [], None
    try:
        key = idempotency_key(given.idempotency_key)
        if len(given.changes) > scope.limits.changes_max:
            most = scope.limits.changes_max
            count = len(given.changes)
            raise BadInput("changes", f"must have at most {most} entries, got {count}.")
    except BadInput as bad:
        errors = [invalid_input(bad, INPUT)]
    else:
        try:
            changes, token = await _changed_each(scope, viewer, given.changes, key)
        except KeyReused:
            errors = rejections(Result(Outcome.IDEMPOTENCY_KEY_REUSED), INPUT)
    return ChangeRelationshipsPayload(
        outcome=_outcome_of_all(changes, errors),
        changed=any(isinstance(one, RelationshipChange) and one.changed for one in changes),
        changes=changes,
        viewer=cast("Viewer", ViewerRow(viewer)),
        user_errors=errors,
        consistency_token=token,
        client_mutation_id=arguments.given(given.client_mutation_id),
    )


def _outcome_of_all(
    changes: Sequence[RelationshipChange | KithError], errors: Sequence[UserError]
) -> ChangeRelationshipsOutcome:
    if errors:
        return ChangeRelationshipsOutcome.REJECTED
    if all(isinstance(one, RelationshipChange) and not one.user_errors for one in changes):
        return ChangeRelationshipsOutcome.COMPLETED
    return ChangeRelationshipsOutcome.PARTIALLY_COMPLETED


async def _changed_each(
    scope: Scope, viewer: UserId, given: Sequence[RelationshipChangeInput], key: str | None
) -> tuple[list[RelationshipChange | KithError], str | None]:
    """Make each change, except those with invalid input, which are rejected.

    Returns one result, or one error, for each change; and one consistency token for all changes.

    Raises:
        KeyReused: the idempotency key was used with other changes.
    """
    outcomes: list[RelationshipChange | KithError | None] = [None] * len(given)
    changes: dict[int, Change] = {}
    for place, one in enumerate(given):
        try:
            changes[place] = _change(scope, one, one.action)
        except BadInput as bad:
            fields = _rejection_fields(bad, _path(place), RelationshipOutcome)
            outcomes[place] = RelationshipChange(**fields)
    results = await relationship.change_many(scope, changes, key)
    for place, result in results.items():
        if isinstance(result, KithError):
            outcomes[place] = result
        else:
            fields = _result_fields(viewer, result, _path(place), RelationshipOutcome)
            outcomes[place] = RelationshipChange(**fields)
    made = [result for result in results.values() if not isinstance(result, KithError)]
    return [one for one in outcomes if one is not None], _token(made)


def _token(results: Sequence[Result]) -> str | None:
    moment = joined(result.moment for result in results if result.moment is not None)
    return None if moment is None else write_token(moment)


def _path(place: int) -> tuple[str, ...]:
    return (*INPUT, "changes", str(place))


def _change(scope: Scope, given: Any, action: RelationshipAction) -> Change:
    """Return the target and the action of an input. Raises BadInput."""
    target = arguments.user_id("userId", given.user_id)
    return Change(target, action_of(action, scope.limits, given))


def _result_fields(
    viewer: UserId, result: Result, path: Sequence[str], outcomes: type[Enum]
) -> dict[str, Any]:
    target, rows = result.target, None
    if target is not None and result.relation is not None:
        rows = relation_rows(viewer, [target], column_of([result.relation]))
    return {
        **result_fields(result, outcomes, path),
        "relation": rows and rows[0],
        "user": target,
        "undo_token": result.undo_token,
    }


def _rejection_fields(bad: BadInput, path: Sequence[str], outcomes: type[Enum]) -> dict[str, Any]:
    return {
        **rejection_fields(bad, outcomes, path),
        "relation": None,
        "user": None,
        "undo_token": None,
    }
