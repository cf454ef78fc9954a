"""The errors of this package. Their texts are complete sentences that a command can print.

DevstackError
├── BinaryMissing    no usable PostgreSQL or Valkey on this machine; the text says what to install
├── StateInUse       another process holds the state folder; the text says how to stop it
├── StateUnusable    the state folder belongs to another user, was copied, or has lost its data
└── ChildFailed      a child could not start or ended too often; the text ends with its last lines
"""


class DevstackError(Exception):
    """The base class."""


class BinaryMissing(DevstackError):
    """No usable binary."""


class StateInUse(DevstackError):
    """Another process holds the state folder."""


class StateUnusable(DevstackError):
    """The state folder, or data that it refers to, cannot be used."""


class ChildFailed(DevstackError):
    """A child could not be started, or ended too often."""
