"""The requests of services: their methods, their audit log, and the responses to their errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import Scope as HttpScope

from gateway.http.rejection import ClientGone, HttpRejection
from graph.edge import UserId
from graph.errors import KithError
from resolvers.audit import UNKNOWN, log_access
from resolvers.scope import Scope

STATUSES = {
    "BAD_USER_INPUT": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "CHANGES_LOST": 410,
}
"""The status of an error's code. All others are 503: a retry can succeed."""

RETRY_AFTER_S = 5


@dataclass(slots=True)
class LoggedAccess:
    """The entry of one request of a service in the audit log."""

    result: str = "INTERNAL"
    """`INTERNAL` if the block ends with an unexpected exception."""


def require_method(http: HttpScope, method: str) -> None:
    """Reject any other method."""
    if http["method"] != method:
        allow = {"allow": method}
        raise HttpRejection(405, "METHOD_NOT_ALLOWED", f"The method must be {method}.", allow)


@contextmanager
def logged_access(scope: Scope, action: str, user: UserId | None = None) -> Iterator[LoggedAccess]:
    """Check that the request is a service's, run the block, and log its result, which the block
    sets, or its error. A KithError becomes a rejection."""
    access = LoggedAccess()
    try:
        scope.must_see_everything()
        yield access
    except KithError as error:
        access.result = error.code
        raise _rejection_of(error) from error
    except HttpRejection as rejection:
        access.result = rejection.code
        raise
    except ClientGone:
        access.result = "CLIENT_GONE"
        raise
    except asyncio.CancelledError:
        access.result = UNKNOWN
        raise
    finally:
        log_access(scope, action, user, access.result)


def _rejection_of(error: KithError) -> HttpRejection:
    status = STATUSES.get(error.code, 503)
    retry = {"retry-after": str(RETRY_AFTER_S)} if status == 503 else {}
    return HttpRejection(status, error.code, str(error), retry)
