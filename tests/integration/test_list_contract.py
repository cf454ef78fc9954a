"""Own lists, overlaps and edge notes, tested through their ports."""

from collections.abc import Sequence

import pytest

from graph.edge import Flags, Kind, Millis, Pair, UserId
from graph.lists import ListKind, OwnListKind
from graph.page import Position, Window
from graph.rules import follow, mute
from storage.ports.edges import EdgeNote
from storage.ports.lists import Side, Whispers
from storage.stores import Stores
from tests.support.edges import edges
from tests.support.graphs import PLENTY, as_pair, drain_all, follows, ids_of, users

CLOSE_FOLLOW, MUTED = Flags.CLOSE_FOLLOW, Flags.MUTED
FANS = range(2, 30)
EXPECTED_USERS = {
    OwnListKind.FOLLOWING: [i for i in FANS if i % 4 < 2],
    OwnListKind.FOLLOWERS: [i for i in FANS if i % 4 < 2],
    OwnListKind.CLOSE_FOLLOWS: [i for i in FANS if i % 4 < 2 and i % 3],
    OwnListKind.MUTED: [i for i in FANS if i % 5 == 0],
    OwnListKind.BLOCKED: [i for i in FANS if i % 4 == 3],
    OwnListKind.OUTGOING_REQUESTS: [i for i in FANS if i % 4 == 2],
    OwnListKind.INCOMING_REQUESTS: [i for i in FANS if i % 4 == 2],
}
"""The users in each of user 1's lists."""


async def write_graph(stores: Stores) -> None:
    kinds = [Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK]
    flags = {
        i: (CLOSE_FOLLOW if i % 3 else Flags.PLAIN) | (Flags.PLAIN if i % 5 else MUTED)
        for i in FANS
    }
    await edges(stores, {(1, i): (kinds[i % 4], flags[i]) for i in FANS})
    await edges(stores, {(i, 1): kinds[i % 4] for i in FANS})
    await drain_all(stores)


@pytest.mark.parametrize("backward", [False, True], ids=["newest first", "oldest first"])
@pytest.mark.parametrize("kind", list(OwnListKind))
async def test_the_pages_of_an_own_list_have_every_entry_once_in_order(
    stores: Stores, kind: OwnListKind, backward: bool
) -> None:
    await write_graph(stores)
    for size in (1, 3, 30):
        entries: list[Position] = []
        window = Window(size, backward=backward)
        while True:
            page = (await stores.reads.own_lists.pages(kind, users(1), window))[UserId(1)]
            entries = [*page.entries, *entries] if backward else [*entries, *page.entries]
            if not page.more:
                break
            assert len(page.entries) == size
            if backward:
                window = Window(size, before=page.entries[0], backward=True)
            else:
                window = Window(size, after=page.entries[-1])
        assert entries == sorted(entries, reverse=True)
        assert sorted(ids_of(entries)) == EXPECTED_USERS[kind]


async def test_own_lists_of_several_users_are_read_in_one_call(stores: Stores) -> None:
    await write_graph(stores)
    found = await stores.reads.own_lists.pages(OwnListKind.BLOCKED, users(1, 3, 7, 99), Window(2))
    assert [len(page.entries) for page in found.values()] == [2, 1, 1, 0]
    assert [page.more for page in found.values()] == [True, False, False, False]


async def overlap(
    stores: Stores, kind: Side, owner: int, by: int, whispers: Whispers
) -> Sequence[int]:
    """The users in a list of `owner` whom `by` follows."""
    found = await stores.reads.overlaps.followed_by(kind, users(owner, 99), UserId(by), whispers)
    assert found[UserId(99)] == []
    return ids_of(found[UserId(owner)])


@pytest.mark.parametrize("more", [0, 40], ids=["few follows", "many follows"])
async def test_an_overlap_is_the_same_with_few_or_many_follows(stores: Stores, more: int) -> None:
    await edges(stores, {(i, 1): Kind.FOLLOW if i % 3 else Kind.WHISPER for i in range(10, 20)})
    await edges(stores, {(1, i): Kind.FOLLOW if i % 3 else Kind.WHISPER for i in range(10, 20)})
    own = {(2, i): Kind.FOLLOW if i % 2 else Kind.WHISPER for i in range(15, 25 + more)}
    await edges(stores, {**own, (2, 16): Kind.BLOCK})
    await drain_all(stores)
    kinds: tuple[Side, ...] = (ListKind.FOLLOWING, ListKind.FOLLOWERS)
    for kind in kinds:
        assert set(await overlap(stores, kind, 1, 2, Whispers())) == {17, 19}
        both = Whispers(in_lists=True, in_follows=True)
        assert set(await overlap(stores, kind, 1, 2, both)) == {15, 17, 18, 19}
        assert set(await overlap(stores, kind, 1, 2, Whispers(in_follows=True))) == {17, 19}
        assert set(await overlap(stores, kind, 1, 2, Whispers(in_lists=True))) == {15, 17, 19}


async def test_blocks_are_counted_in_every_kind_of_list(stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (2, 1), (4, 1), (1, 5), (5, 1))
    await edges(stores, {(9, 2): Kind.BLOCK, (3, 9): Kind.BLOCK, (9, 4): Kind.BLOCK})
    await drain_all(stores)
    for kind, blocked_counts in zip(ListKind, (2, 2, 1), strict=True):
        found = await stores.reads.overlaps.blocked_counts(kind, users(1, 7), UserId(9))
        assert found == {1: blocked_counts, 7: 0}


async def test_edge_notes_are_returned_for_the_edges_that_have_one(stores: Stores) -> None:
    until = Millis(2_000_000_000_000)
    await stores.writes.edges.change(as_pair(1, 2), mute(until))
    await stores.writes.edges.change(as_pair(1, 3), follow(PLENTY))
    pairs = [Pair(UserId(1), UserId(other)) for other in (2, 3, 4)]
    assert await stores.reads.edge_notes.get_many(pairs) == {pairs[0]: EdgeNote(None, until)}
