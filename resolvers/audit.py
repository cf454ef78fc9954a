"""The audit log: who changed which account, what a service did, whose use of a field for services
was rejected, and the results.

It holds ids, names of actions and outcomes; no secrets and no content of users. The formatters add
the request's id.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from graph.edge import UserId
from graph.errors import Forbidden, KithError
from resolvers.result import Result
from resolvers.scope import Scope
from telemetry.entry_limit import EntryLimit

log = logging.getLogger("kith.audit")

R = TypeVar("R", bound=Result)
T = TypeVar("T")

UNKNOWN = "UNKNOWN"
"""The result of a change that was stopped before it ended. It may have been made."""

_rejections = EntryLimit()
"""Limits the log entries of rejected attempts, which anybody can make without a token."""


async def audited(
    scope: Scope, action: str, target: UserId | None, change: Coroutine[Any, Any, R], **counts: int
) -> R:
    """Run a change, and log it with its result (an outcome, or the code of an error) and with
    `counts` as further fields.

    If the request is cancelled, the change continues, and is logged when it ends.
    """
    logged = _logged(scope, action, target, change, _outcome_name, counts)
    return await scope.stores.shielded.run(logged)


async def audited_as(
    scope: Scope, action: str, change: Coroutine[Any, Any, T], result_of: Callable[[T], str]
) -> T:
    """`audited` for a change without an outcome. `result_of` returns what to log instead."""
    return await scope.stores.shielded.run(_logged(scope, action, None, change, result_of, {}))


def _outcome_name(changed: Result) -> str:
    return changed.outcome.name


async def _logged(
    scope: Scope,
    action: str,
    target: UserId | None,
    change: Coroutine[Any, Any, T],
    result_of: Callable[[T], str],
    counts: Mapping[str, int],
) -> T:
    result = "INTERNAL"
    try:
        changed = await change
        result = result_of(changed)
        return changed
    except KithError as error:
        result = error.code
        raise
    except asyncio.CancelledError:  # the process stops, and the change takes too long
        result = UNKNOWN
        raise
    finally:
        _log(scope, action, target, result, counts)


def require_service(scope: Scope, action: str, target: UserId | None = None, **counts: int) -> None:
    """Raise Forbidden, and log the attempt, unless a service sent the request.

    One request causes at most one log entry for each action, as a document may repeat a field many
    times.
    """
    try:
        scope.must_be_service()
    except Forbidden as error:
        if action not in scope.rejected_actions:
            scope.rejected_actions |= {action}
            _log(scope, action, target, error.code, counts)
        raise


def log_access(scope: Scope, action: str, target: UserId | None, result: str) -> None:
    """Log an attempt to read what only services may read, with its result."""
    _log(scope, action, target, result, {})


def _log(
    scope: Scope, action: str, target: UserId | None, result: str, counts: Mapping[str, int]
) -> None:
    """Write an entry, unless it is one of too many rejections. The next entry has the number of
    those left out."""
    if result == Forbidden.code and not _rejections.admit():
        return
    fields = {"actor": _actor(scope), "action": action, "result": result, **counts}
    fields |= _rejections.take_omitted("left_out")
    if target is not None:
        fields["target"] = target
    if scope.client is not None:
        fields["client"] = scope.client
    log.info("%s", action, extra=fields)


def _actor(scope: Scope) -> str:
    user = "anonymous" if scope.viewer is None else f"user {scope.viewer}"
    if not scope.is_service:
        return user
    return "service" if scope.viewer is None else f"service for {user}"
