"""From an input to a use case, and from its result to a payload. Decides nothing."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar, cast

from graph.consistency import joined, write_token
from graph.decision import Outcome
from graph.edge import UserId
from graph.errors import BadInput, KithError
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
from schema.rows import ViewerRow, relation_rows
from schema.told import INPUT, outcome_of, refusal_of
from schema.user_error import UserError, invalid_input, refusals
from schema.viewer import Viewer

P = TypeVar("P", bound=RelationshipPayload)


async def changed(
    info: Info,
    given: UserInput,
    action: RelationshipAction,
    payload: Callable[..., P],
    outcomes: type[Enum],
) -> P:
    """The payload of a mutation that does one thing to one user."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    told: dict[str, Any]
    try:
        change = _change(scope, given, action)
        key = idempotency_key(given.idempotency_key)
    except BadInput as bad:
        told = _refused(bad, INPUT, outcomes)
    else:
        result = await relationship.change(scope, *change, key)
        told = {**_told(viewer, result, INPUT, outcomes), "consistency_token": _token([result])}
    return payload(
        viewer=ViewerRow(viewer),
        client_mutation_id=arguments.given(given.client_mutation_id),
        **told,
    )


async def undone(info: Info, given: UndoRelationshipChangeInput) -> UndoRelationshipChangePayload:
    """The payload of `undoRelationshipChange`."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    try:
        key = idempotency_key(given.idempotency_key)
    except BadInput as bad:
        told = _refused(bad, INPUT, UndoRelationshipChangeOutcome)
    else:
        result = await relationship.undo(scope, given.undo_token, key)
        told = {
            **_told(viewer, result, INPUT, UndoRelationshipChangeOutcome),
            "consistency_token": _token([result]),
        }
    return UndoRelationshipChangePayload(
        viewer=cast("Viewer", ViewerRow(viewer)),
        client_mutation_id=arguments.given(given.client_mutation_id),
        **told,
    )


async def changed_many(info: Info, given: ChangeRelationshipsInput) -> ChangeRelationshipsPayload:
    """The payload of `changeRelationships`."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    changes: list[Any] = []
    errors, token = [], None
    try:
        key = idempotency_key(given.idempotency_key)
        if len(given.changes) > scope.limits.changes_max:
            most = scope.limits.changes_max
            raise BadInput("changes", f"{len(given.changes)} are too many: use at most {most}.")
    except BadInput as bad:
        errors = [invalid_input(bad, INPUT)]
    else:
        try:
            changes, token = await _changed_each(scope, viewer, given.changes, key)
        except KeyReused:
            errors = refusals(Result(Outcome.IDEMPOTENCY_KEY_REUSED), INPUT)
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
    """What became of each: those whose input is bad are refused, and the others made. With them one
    token for all that were. Raises KeyReused.
    """
    told: list[RelationshipChange | KithError | None] = [None] * len(given)
    changes: dict[int, Change] = {}
    for place, one in enumerate(given):
        try:
            changes[place] = _change(scope, one, one.action)
        except BadInput as bad:
            refused = _refused(bad, _path(place), RelationshipOutcome)
            told[place] = RelationshipChange(**refused)
    results = await relationship.change_many(scope, changes, key)
    for place, result in results.items():
        told[place] = (
            result
            if isinstance(result, KithError)
            else RelationshipChange(**_told(viewer, result, _path(place), RelationshipOutcome))
        )
    made = [result for result in results.values() if not isinstance(result, KithError)]
    return [one for one in told if one is not None], _token(made)


def _token(results: Sequence[Result]) -> str | None:
    moment = joined(result.moment for result in results if result.moment is not None)
    return None if moment is None else write_token(moment)


def _path(place: int) -> tuple[str, ...]:
    return (*INPUT, "changes", str(place))


def _change(scope: Scope, given: Any, action: RelationshipAction) -> Change:
    """Whom an input means, and what is to be done to them. Raises BadInput."""
    target = arguments.user_id("userId", given.user_id)
    return Change(target, action_of(action, scope.limits, given))


def _told(
    viewer: UserId, result: Result, path: Sequence[str], outcomes: type[Enum]
) -> dict[str, Any]:
    target, rows = result.target, None
    if target is not None and result.relation is not None:
        rows = relation_rows(viewer, [target], column_of([result.relation]))
    return {
        **outcome_of(result, outcomes, path),
        "relation": rows and rows[0],
        "user": target,
        "undo_token": result.undo_token,
    }


def _refused(bad: BadInput, path: Sequence[str], outcomes: type[Enum]) -> dict[str, Any]:
    return {**refusal_of(bad, outcomes, path), "relation": None, "user": None, "undo_token": None}
