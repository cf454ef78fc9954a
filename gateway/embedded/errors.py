"""What can go wrong around embedded servers, as sentences for a person. Knows no server.

EmbeddedError
├── BinaryMissing    no usable PostgreSQL or Valkey on this machine: says what to install
├── StateInUse       another process runs in the same state folder
├── StateUnusable    the state folder, or what it remembers, cannot be used
└── ChildFailed      a command ended badly, or a child died too often
"""


class EmbeddedError(Exception):
    """The root: its text is meant to be printed as it is."""


class BinaryMissing(EmbeddedError):
    """No usable binary; the text says what to install."""


class StateInUse(EmbeddedError):
    """Another process holds the state folder; the text says which one and how to stop it."""


class StateUnusable(EmbeddedError):
    """The state folder belongs to somebody else, was moved, or has lost its data."""


class ChildFailed(EmbeddedError):
    """A child could not be started or died too often; the text ends with its last lines."""
