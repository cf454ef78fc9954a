"""New followers: users whose follow began after the moment up to which the followed user has marked
their followers as seen."""

from graph.edge import Millis

NEVER_SEEN = Millis(0)
"""The moment of a user who has not marked any followers as seen. A follow without a known date has
this date, so it is never new."""


def is_new(since: Millis, seen: Millis) -> bool:
    """Whether a follower since a date is new to a user who has seen their followers up to
    `seen`."""
    return since > seen
