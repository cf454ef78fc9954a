"""The id of the request that the current task handles, for logs, errors and traces."""

from contextvars import ContextVar

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""None outside of requests, and in tasks that work for several requests."""
