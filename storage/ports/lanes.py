"""Lanes: waking their workers, how far they are drained, and draining them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from graph.edge import Version
from graph.lane import LANE_GROUPS, Lane


class Lanes(Protocol):
    """Wakes the workers. Best effort: the sweep finds lanes whose wake-up was lost."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        """Wake a worker for each of these lanes. Returns immediately and never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Watermarks of lane groups at `now` (database clock, microseconds).

    Every change with a version below a group's `oldest` is in the rows and caches; None: no change
    of the group is waiting or parked. Every change below its `oldest_unparked` is in the rows, but
    some caches may lack it, if it is parked. Failed changes are ignored.
    """

    oldest: Mapping[Lane, Version | None]
    oldest_unparked: Mapping[Lane, Version | None]
    now: int


class LaneProgress(Protocol):
    """How far the lanes are drained."""

    async def watermarks(self, groups: Iterable[Lane] = LANE_GROUPS) -> Watermarks:
        """The watermarks of lane groups."""
        ...


class CatchUp(Protocol):
    """Drains lanes up to the versions that readers require."""

    async def reach(self, of_groups: Mapping[Lane, int], wait_s: float) -> bool:
        """Return when the lanes of each group have passed its required version. True: rows and
        caches are current. False: only the rows are, because some caches could not be updated.

        Raises:
            Stale: it took longer than `wait_s`.
        """
        ...
