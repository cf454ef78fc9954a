"""Long requests that arrive together share the event loop: see `engine.turns`."""

SLICE_BYTES = 16_000
"""Requests with so many bytes altogether are read in one iteration of the loop: 0.2 to 4 ms."""

LONG_BODY_BYTES = 500
"""Shorter bodies are not counted. Reading one, with its operation, takes about 0.1 ms."""

LONG_QUERY_BYTES = 1_000
"""Shorter query strings of GET requests are not counted."""

AUTHORIZATION = b"authorization"
"""The header with the token."""

LONG_TOKEN_BYTES = 4_000
"""Shorter tokens are not counted, among them those of the usual providers. The first check of one
with 16,000 characters takes 1 ms."""
