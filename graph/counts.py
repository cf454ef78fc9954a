"""How many edges a user has. Knows nothing of who may see them."""

from typing import NamedTuple, cast

from graph.edge import FOLLOWS, Edge, Flags, Kind


class Counts(NamedTuple):
    """The totals of one user's lists: for everybody the first three, the rest for themselves."""

    following: int
    followers: int
    friends: int
    whispers: int = 0
    """Whom this user follows by a whisper."""
    whispered: int = 0
    """Who follows this user by a whisper."""
    outgoing_requests: int = 0
    incoming_requests: int = 0
    blocks: int = 0
    blocked: int = 0
    """How many block this user: nobody is told."""
    specials: int = 0
    mutes: int = 0
    absent: "Counts | None" = None
    """How many of each these are whose accounts are not here; None: nobody."""

    @property
    def shown(self) -> "Counts":
        """The totals of what anybody but a service can page through."""
        if self.absent is None:
            return self
        pairs = zip(self.numbers, self.absent.numbers, strict=True)
        return Counts._make([*(max(0, of_all - absent) for of_all, absent in pairs), None])

    @property
    def numbers(self) -> tuple[int, ...]:
        """All but what is absent of them, in their order."""
        return cast("tuple[int, ...]", self[:-1])


NO_COUNTS = Counts(0, 0, 0)


class Limit(NamedTuple):
    """A number of edges that somebody may have, and how many they have."""

    limit: int
    current: int


class Tally(NamedTuple):
    """What one edge adds to the counts of a user whose it is."""

    follows: int
    whispers: int
    requests: int
    blocks: int
    specials: int
    mutes: int


def tally(edge: Edge) -> Tally:
    """Each number is 0 or 1."""
    return Tally(
        edge.kind is Kind.FOLLOW,
        edge.kind is Kind.WHISPER,
        edge.kind is Kind.REQUEST,
        edge.kind is Kind.BLOCK,
        edge.kind in FOLLOWS and Flags.CLOSE_FOLLOW in edge.flags,
        Flags.MUTED in edge.flags,
    )


def counted(former: Edge, edge: Edge) -> Tally:
    """What a user's counts change by when `former` becomes `edge`: each -1, 0 or 1."""
    pairs = zip(tally(former), tally(edge), strict=True)
    return Tally(*(after - before for before, after in pairs))
