"""The users whom the viewer has pinned among those they follow: reading and replacing them."""

from collections.abc import Sequence

from graph.edge import UserId
from graph.errors import BadInput
from graph.outcome import Outcome
from graph.receipt import Receipt
from resolvers.audit import audited
from resolvers.idempotency import request_of, run_idempotently
from resolvers.result import Result
from resolvers.scope import Scope

SET_PINNED_FOLLOWING = "setPinnedFollowing"


async def pinned_by(scope: Scope, viewer: UserId) -> list[UserId]:
    """The users whom the viewer has pinned, in order, without absent users. One statement."""
    absent = await scope.absent()
    found = await scope.stores.own_data.pinned_following.pinned_by(viewer)
    return [user for user in found if user not in absent]


async def set_pinned_following(
    scope: Scope, users: Sequence[UserId], idempotency_key: str | None = None
) -> Result:
    """Replace the users whom the viewer has pinned, in order. Each must be followed by the viewer.

    With a key that was used before, it returns the first outcome.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL cannot be reached. The users may or may not be replaced; repeating
            the request is safe.
    """
    viewer = scope.must_have_viewer()
    made = _replace(scope, viewer, users, idempotency_key)
    if scope.is_service:
        return await audited(scope, SET_PINNED_FOLLOWING, viewer, made)
    return await made


async def _replace(
    scope: Scope, viewer: UserId, users: Sequence[UserId], idempotency_key: str | None
) -> Result:
    request = request_of(viewer, idempotency_key, SET_PINNED_FOLLOWING, *users)
    pinned, pace = scope.stores.own_data.pinned_following, scope.policy.pace
    saved = await run_idempotently(
        scope, request, lambda: pinned.replace(viewer, users, request, pace)
    )
    if isinstance(saved, Receipt):
        return Result(saved.outcome)
    if saved.not_pinnable is not None:
        place = users.index(saved.not_pinnable)
        message = f"must be a user whom you follow, got {saved.not_pinnable}."
        return Result(Outcome.INVALID_INPUT, invalid=BadInput(f"userIds.{place}", message))
    return Result(saved.outcome, retry_at=saved.retry_at)
