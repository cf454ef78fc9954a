"""Private notes: reading those of the viewer, and setting one."""

from collections.abc import Sequence

from graph.edge import Pair, UserId
from graph.outcome import Outcome
from graph.receipt import Receipt
from graph.relation import SELF
from resolvers import relationship
from resolvers.audit import audited
from resolvers.idempotency import request_of, run_idempotently
from resolvers.relationship import Result
from resolvers.scope import Scope

SET_NOTE = "setNote"


async def notes_of(
    scope: Scope, sources: Sequence[UserId], targets: Sequence[UserId]
) -> list[str | None]:
    """The note of each of `sources` about the user in the same place of `targets`; None unless the
    viewer is its author.

    Notes about deactivated users are shown: otherwise a blocked author could tell a block from a
    deactivation. All notes take one statement.
    """
    viewer = scope.viewer
    if viewer is None or viewer not in sources:
        return [None] * len(targets)
    # A set, because a response may show one relation many times.
    own = {target for source, target in zip(sources, targets, strict=True) if source == viewer}
    found = await scope.stores.own_data.private_notes.get_many(viewer, list(own))
    if not found:
        return [None] * len(targets)
    return [
        found.get(target) if source == viewer else None
        for source, target in zip(sources, targets, strict=True)
    ]


async def set_note(
    scope: Scope, target: UserId, note: str | None, idempotency_key: str | None = None
) -> Result:
    """Set the viewer's note about `target`; None deletes it.

    With a key that was used before, it returns the first outcome.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL cannot be reached. The note may or may not be set; repeating the
            request is safe.
    """
    made = _set_note(scope, target, note, idempotency_key)
    return await audited(scope, SET_NOTE, target, made) if scope.is_service else await made


async def _set_note(
    scope: Scope, target: UserId, note: str | None, idempotency_key: str | None
) -> Result:
    viewer = scope.must_have_viewer()
    if target == viewer:
        return Result(Outcome.CANNOT_DO_TO_SELF, target, SELF)
    pair = Pair(viewer, target)
    request = request_of(viewer, idempotency_key, SET_NOTE, target, note)
    notes, pace = scope.stores.own_data.private_notes, scope.policy.pace
    saved = await run_idempotently(
        scope, request, lambda: notes.set_note(pair, note, request, pace)
    )
    retry_at = None if isinstance(saved, Receipt) else saved.retry_at
    return await relationship.current_result(scope, pair, saved.outcome, retry_at=retry_at)
