"""Long requests that arrive together share the event loop: see `engine.turns`."""

SLICE_BYTES = 16_000
"""Requests with so many bytes altogether are read in one iteration of the loop: 0.2 to 4 ms."""

LONG_BODY_BYTES = 1_000
"""Shorter bodies are not counted. Reading one, with its operation, takes about 0.1 ms."""

AUTHORIZATION = b"authorization"
"""The header with the token."""

LONG_HEAD_BYTES = 4_000
"""The same for what is decoded of a head: its token, and the query string. Tokens of the usual
providers are shorter. The first check of one with 16,000 characters takes 1 ms."""
