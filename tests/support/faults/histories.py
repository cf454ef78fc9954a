"""The states in which a read may see each follow, while writes and reads run concurrently.

The history of a follow is a list of versions. All times are of one clock of this process. A reader
may see a version from the start of its write on, and must not see an older one once the write was
acknowledged: at once if the reader is the writer, otherwise after the lag.
"""

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple


class UserPair(NamedTuple):
    """A follow of `target` by `source`."""

    source: int
    target: int

    @property
    def reversed(self) -> "UserPair":
        return UserPair(self.target, self.source)


class PossibleStates:
    """Whether a follow may be absent, present, or both: bits, because an IntFlag costs ten times as
    much, and the soak compares 50,000 of them a second."""

    ABSENT = 1
    PRESENT = 2
    BOTH = 3


@dataclass(slots=True)
class Version:
    """A follow or an unfollow: when its write began, and when its writer knew that it was done."""

    present: bool
    began: float
    acknowledged: float = inf

    @property
    def state(self) -> int:
        return PossibleStates.PRESENT if self.present else PossibleStates.ABSENT


@dataclass(slots=True)
class History:
    """The versions of one follow, from the oldest that a reader may still see."""

    versions: list[Version] = field(default_factory=lambda: [Version(False, -inf, -inf)])

    @property
    def last(self) -> Version:
        return self.versions[-1]

    def write(self, present: bool, began: float) -> Version:
        self.versions.append(Version(present, began))
        return self.last

    def reset(self, *, present: bool, is_certain: bool) -> None:
        """Set the state that all readers see. Unless `is_certain`, a write may still change it."""
        self.versions = [Version(present, -inf, -inf)]
        if not is_certain:
            self.write(not present, -inf)

    def lagging(self, began: float, ended: float, lag_s: float) -> int:
        """The states that a read between these times may show to users other than the writer.

        Forgets the versions that no read that begins later may show.
        """
        while len(self.versions) > 1 and self.versions[1].acknowledged < began - lag_s:
            del self.versions[0]
        return _possible_states(self.versions, 0, ended)

    def fresh(self, began: float, ended: float) -> int:
        """The states that a read between these times may show to the writer."""
        return _possible_states(self.versions, self._known(began), ended)

    def record_shown(self, began: float, ended: float, *, present: bool) -> None:
        """Record that the writer has seen this state. If only one version explains it, that version
        counts as acknowledged."""
        first = self._known(began)
        matching = [
            version
            for version in self.versions[first:]
            if version.present == present and version.began <= ended
        ]
        if len(matching) == 1 and matching[0].acknowledged > ended:
            matching[0].acknowledged = ended

    def _known(self, moment: float) -> int:
        """The index of the newest version that was known to the writer at this moment."""
        index = len(self.versions) - 1
        while index and self.versions[index].acknowledged > moment:
            index -= 1
        return index


def _possible_states(versions: list[Version], first: int, ended: float) -> int:
    if first == len(versions) - 1:
        return versions[first].state
    found = 0
    for version in versions[first:]:
        if version.began <= ended:
            found |= version.state
    return found
