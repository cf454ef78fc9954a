"""Counts and describes the inconsistencies of a graph."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from graph.edge import UserId
from storage.postgres.verification.parts import DifferingPair, LostMember
from storage.postgres.verification.tallies import AllCounts, Tally


class DriftKind(Enum):
    """Kinds of inconsistencies. All except an invalid edge can be repaired: rows and counts from
    the forward rows, the others by deleting what is left."""

    INVALID_EDGE = "invalid edge"
    REVERSE_MISSING = "reverse row missing"
    REVERSE_DIFFERS = "reverse row differs"
    REVERSE_EXTRA = "reverse row without an edge"
    FOLLOWING_COUNT = "following count"
    FOLLOWER_COUNT = "follower count"
    FRIEND_COUNT = "friend count"
    WHISPER_COUNT = "count of whispers"
    WHISPERED_COUNT = "count of followers by a whisper"
    OUTGOING_REQUEST_COUNT = "count of outgoing requests"
    INCOMING_REQUEST_COUNT = "count of incoming requests"
    BLOCK_COUNT = "count of blocks"
    BLOCKED_COUNT = "count of blocks received"
    CLOSE_FOLLOW_COUNT = "count of close follows"
    MUTE_COUNT = "count of mutes"
    ABSENT_COUNT = "count of absent followers"
    ERASED_ACCOUNT = "data left of an erased account"
    GROUP_MEMBER = "member of a group that does not exist"


@dataclass(frozen=True, slots=True)
class Drift:
    """The number of inconsistencies of one kind, with descriptions of the first ones."""

    kind: DriftKind
    count: int
    examples: tuple[str, ...]


class Drifts:
    """The inconsistencies that one run has found, with at most `examples` descriptions of each
    kind."""

    def __init__(self, examples: int) -> None:
        self._limit = examples
        self._counts: Counter[DriftKind] = Counter()
        self._examples: defaultdict[DriftKind, list[str]] = defaultdict(list)

    @property
    def total(self) -> int:
        return self._counts.total()

    def record_pair(self, differing: DifferingPair) -> DriftKind:
        """Record an inconsistent pair. Returns the kind of its inconsistency."""
        kind = _kind_of_pair(differing)
        difference = (
            f"forward {_describe(differing.forward)}, reverse {_describe(differing.reverse)}"
        )
        self._add(kind, f"{differing.pair.source} to {differing.pair.target}: {difference}")
        return kind

    def record_counts(self, tally: Tally) -> None:
        """Record the wrong counts of a user."""
        for kind, stored, computed in _counts_by_kind(tally):
            if stored != computed:
                self._add(kind, f"{tally.user}: {stored} instead of {computed}")

    def record_erased(self, user: UserId) -> None:
        """Record remaining data of an erased account."""
        self._add(DriftKind.ERASED_ACCOUNT, f"{user}")

    def record_member(self, lost: LostMember) -> None:
        """Record a group member whose group does not exist."""
        self._add(DriftKind.GROUP_MEMBER, f"{lost.owner}: {lost.member} in {lost.group}")

    def summary(self) -> tuple[Drift, ...]:
        return tuple(
            Drift(kind, self._counts[kind], tuple(self._examples[kind]))
            for kind in DriftKind
            if self._counts[kind]
        )

    def _add(self, kind: DriftKind, example: str) -> None:
        self._counts[kind] += 1
        if len(self._examples[kind]) < self._limit:
            self._examples[kind].append(example)


def _kind_of_pair(differing: DifferingPair) -> DriftKind:
    if differing.invalid:
        return DriftKind.INVALID_EDGE
    if differing.forward is None:
        return DriftKind.REVERSE_EXTRA
    return DriftKind.REVERSE_MISSING if differing.reverse is None else DriftKind.REVERSE_DIFFERS


def _describe(row: tuple[int, ...] | None) -> str:
    return "none" if row is None else "kind {} flags {} since {} version {}".format(*row)


_KIND_OF_COUNT = {
    "following": DriftKind.FOLLOWING_COUNT,
    "followers": DriftKind.FOLLOWER_COUNT,
    "friends": DriftKind.FRIEND_COUNT,
    "whispers": DriftKind.WHISPER_COUNT,
    "whispered": DriftKind.WHISPERED_COUNT,
    "outgoing_requests": DriftKind.OUTGOING_REQUEST_COUNT,
    "incoming_requests": DriftKind.INCOMING_REQUEST_COUNT,
    "blocks": DriftKind.BLOCK_COUNT,
    "blocked": DriftKind.BLOCKED_COUNT,
    "close_follows": DriftKind.CLOSE_FOLLOW_COUNT,
    "mutes": DriftKind.MUTE_COUNT,
    "absent_followers": DriftKind.ABSENT_COUNT,
    "absent_whispered": DriftKind.ABSENT_COUNT,
    "absent_requests": DriftKind.ABSENT_COUNT,
}


def _counts_by_kind(tally: Tally) -> Iterator[tuple[DriftKind, int, int]]:
    for name, stored, computed in zip(AllCounts._fields, tally.stored, tally.computed, strict=True):
        yield _KIND_OF_COUNT[name], stored, computed
