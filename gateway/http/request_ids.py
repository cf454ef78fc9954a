"""Request ids: taken from `X-Request-Id` or W3C's `traceparent`, or made.

The same id is in the response's header, in every log line of the request, and in its INTERNAL
errors.
"""

import re
from random import getrandbits

from gateway.http.headers import Headers
from telemetry.request_id import request_id

HEADER = b"x-request-id"
_TRACEPARENT = b"traceparent"

_is_id = re.compile(rb"[A-Za-z0-9_.:/+=@-]{1,128}").fullmatch
"""Ids go into logs and headers. Other characters, and longer ids, are ignored."""

_trace_of = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"
).fullmatch


def begin_request(headers: Headers) -> bytes:
    """Give the current task the id of the request with these headers, and return it."""
    chosen = headers.get(HEADER)
    if chosen is None or _is_id(chosen) is None:
        parent = headers.get(_TRACEPARENT)
        trace = None if parent is None else _trace_of(parent)
        # An id must be unique, not secret. `secrets` costs several calls.
        chosen = b"%032x" % getrandbits(128) if trace is None else trace[1]
    request_id.set(chosen.decode())
    return chosen
