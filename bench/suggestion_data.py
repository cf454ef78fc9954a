"""Follow graphs with hidden follows, to measure which methods find them."""

import csv
import gzip
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from random import Random

from graph.edge import UserId

HIDDEN = 0.1
"""The share of the follows that are hidden."""

FOLLOWS_MIN = 9
"""The minimum number of visible follows of a user in a sample: of ten follows, nine
are visible."""

NONE: Sequence[UserId] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """The visible part of a graph, and the follows that are hidden."""

    name: str
    following: Mapping[UserId, Sequence[UserId]]
    """Visible follows by user, newest first."""
    followers: Mapping[UserId, Sequence[UserId]]
    """Visible followers by user, newest first."""
    hidden: Mapping[UserId, Set[UserId]]
    ended: Mapping[UserId, Set[UserId]]
    """Users whom a user has followed and unfollowed."""

    def sample(self, limit: int) -> tuple[list[UserId], list[UserId]]:
        """Two halves of up to `limit` users with hidden follows: one to choose parameters, one to
        report."""
        users = [
            user for user in sorted(self.hidden) if len(self.following_of(user)) >= FOLLOWS_MIN
        ]
        Random(3).shuffle(users)
        users = users[:limit]
        return users[::2], users[1::2]

    def following_of(self, user: UserId) -> Sequence[UserId]:
        return self.following.get(user, NONE)

    def followers_of(self, user: UserId) -> Sequence[UserId]:
        return self.followers.get(user, NONE)


def read_split(path: Path) -> Split:
    """Read a graph and hide a tenth of its follows.

    With dates (`created_at_ms`), the newest tenth of each user is hidden; follows of one moment
    are in random order. Without dates, each follow is hidden with a probability of a tenth. A log
    of events (`op`) is replayed first.

    Raises:
        OSError: the file cannot be read.
    """
    chance = Random(7)
    by_user: dict[UserId, list[tuple[int, float, UserId]]] = defaultdict(list)
    ended: dict[UserId, set[UserId]] = defaultdict(set)
    dated = False
    for source, target, since in _follows(path, ended):
        dated = dated or since is not None
        by_user[source].append((since or 0, chance.random(), target))
    following: dict[UserId, list[UserId]] = {}
    hidden: dict[UserId, set[UserId]] = {}
    reverse: dict[UserId, list[tuple[int, float, UserId]]] = defaultdict(list)
    for user, edges in by_user.items():
        edges.sort(reverse=True)
        if dated:
            cut = int(len(edges) * HIDDEN)
            hidden_edges, visible_edges = edges[:cut], edges[cut:]
        else:
            hidden_edges = [edge for edge in edges if chance.random() < HIDDEN]
            targets = {target for _, _, target in hidden_edges}
            visible_edges = [edge for edge in edges if edge[2] not in targets]
        following[user] = [target for _, _, target in visible_edges]
        if hidden_edges:
            hidden[user] = {target for _, _, target in hidden_edges}
        for since, _, target in visible_edges:
            reverse[target].append((since, chance.random(), user))
    followers = {
        user: [source for _, _, source in sorted(edges, reverse=True)]
        for user, edges in reverse.items()
    }
    return Split(path.name.split(".")[0], following, followers, hidden, ended)


def _follows(
    path: Path, ended: dict[UserId, set[UserId]]
) -> Iterator[tuple[UserId, UserId, int | None]]:
    with gzip.open(path, "rt", newline="") as file:
        rows = csv.DictReader(file)
        if "op" not in (rows.fieldnames or ()):
            for row in rows:
                since = row.get("created_at_ms")
                yield (
                    UserId(int(row["from_user_id"])),
                    UserId(int(row["to_user_id"])),
                    None if since is None else int(since),
                )
            return
        live: dict[tuple[UserId, UserId], int] = {}
        for row in rows:
            pair = UserId(int(row["from_user_id"])), UserId(int(row["to_user_id"]))
            if row["op"] == "follow":
                live.setdefault(pair, int(row["created_at_ms"]))
                ended[pair[0]].discard(pair[1])
            else:
                live.pop(pair, None)
                ended[pair[0]].add(pair[1])
    for (source, target), since in live.items():
        yield source, target, since
