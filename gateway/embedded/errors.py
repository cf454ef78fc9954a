"""Errors of embedded servers, with messages for people.

EmbeddedError
├── BinaryMissing    no usable PostgreSQL or Valkey on this machine: says what to install
├── StateInUse       another process runs in the same state folder
├── StateUnusable    the state folder, or data that it refers to, cannot be used
└── ChildFailed      a command failed, or a child died too often
"""


class EmbeddedError(Exception):
    """The base class. Its text can be printed unchanged."""


class BinaryMissing(EmbeddedError):
    """No usable binary. The text says what to install."""


class StateInUse(EmbeddedError):
    """Another process holds the state folder. The text says which one and how to stop it."""


class StateUnusable(EmbeddedError):
    """The state folder belongs to another user, was copied, or has lost its data."""


class ChildFailed(EmbeddedError):
    """A child could not be started or died too often. The text ends with its last lines."""
