"""The audit log: who changed which account, what a service did, and with which result.

It holds ids, names of actions and outcomes; no secrets and no content of users. The formatters add
the request's id.
"""

import logging
from collections.abc import Awaitable
from typing import TypeVar

from graph.edge import UserId
from graph.errors import KithError
from resolvers.result import Result
from resolvers.scope import Scope

log = logging.getLogger("kith.audit")

R = TypeVar("R", bound=Result)


async def audited(
    scope: Scope, action: str, target: UserId | None, change: Awaitable[R], **counts: int
) -> R:
    """Await a change, and log it with its result: an outcome, or the code of an error."""
    result = "INTERNAL"
    try:
        changed = await change
        result = changed.outcome.name
        return changed
    except KithError as error:
        result = error.code
        raise
    finally:
        fields = {"actor": _actor(scope), "action": action, "result": result, **counts}
        if target is not None:
            fields["target"] = target
        log.info("%s", action, extra=fields)


def _actor(scope: Scope) -> str:
    user = "anonymous" if scope.viewer is None else f"user {scope.viewer}"
    if not scope.is_service:
        return user
    return "service" if scope.viewer is None else f"service for {user}"
