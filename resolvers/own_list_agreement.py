"""Makes relations agree with the viewer's own lists in the same response.

Own lists are read from the tables, and relations from the caches. If the caches could not be
updated with a change of the viewer, they lack it until a worker has updated them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graph.edge import Flags, Kind, Millis, UserId
from graph.lists import OwnListKind
from graph.relation import (
    Relation,
    RelationColumn,
    blocks,
    column_of,
    is_close_follow,
    kinds_of,
    mutes,
    requested_by,
    requests,
)
from resolvers import visibility
from resolvers.scope import Scope
from resolvers.shown_pages import Listed, ShownPages
from storage.ports.reader import Check, Consistency, RelationsOf

OwnLists: TypeAlias = Mapping[OwnListKind, Listed]
"""The viewer's own lists that a response shows."""

_BELONGS: Mapping[OwnListKind, Callable[[int], bool]] = {
    OwnListKind.CLOSE_FOLLOWS: is_close_follow,
    OwnListKind.MUTED: mutes,
    OwnListKind.BLOCKED: blocks,
    OwnListKind.OUTGOING_REQUESTS: requests,
    OwnListKind.INCOMING_REQUESTS: requested_by,
}
"""For each list: whether it has the other user, by the kinds of the viewer's relation."""

_FLAGS = {OwnListKind.CLOSE_FOLLOWS: Flags.CLOSE_FOLLOW, OwnListKind.MUTED: Flags.MUTED}
"""The flags of the entries of lists. A relation from the other user's side shows no flags."""


async def as_in_own_lists(
    scope: Scope,
    shown: ShownPages,
    user: UserId,
    others: Sequence[UserId],
    relations: RelationColumn,
) -> RelationColumn:
    """Make the relations between the viewer and other users agree with the viewer's own lists.

    Relations that contradict a list are read from their rows, in one statement. Relations of absent
    users stay.
    """
    viewer = scope.must_have_viewer()
    lists = shown.own_lists()
    places: Sequence[int] = range(len(others))
    users, kinds = others, relations.kinds
    if user != viewer:
        lists = {kind: listed for kind, listed in lists.items() if kind not in _FLAGS}
        places = [place for place, other in enumerate(others) if other == viewer]
        users = [user] * len(places)
        kinds = [relations[place].reversed.kinds for place in places]
    found = contradicting(lists, users, kinds)
    if not found:
        return relations  # nearly always
    absent = await scope.absent()
    outdated = [index for index in found if users[index] not in absent and users[index] != viewer]
    if not outdated:
        return relations
    check = Check(viewer, [users[index] for index in outdated])
    (rows,) = await scope.stores.reads.reader.read(
        viewer, RelationsOf([check]), consistency=Consistency.ROWS
    )
    changed = list(relations)
    visible = visibility.own_relations(scope, absent, check.others, rows)
    for index, other, row in zip(outdated, check.others, visible, strict=True):
        agreed = stored_as_listed(lists, other, row)
        changed[places[index]] = agreed if user == viewer else agreed.reversed
    return column_of(changed)


def contradicting(lists: OwnLists, users: Sequence[UserId], kinds: Sequence[int]) -> list[int]:
    """The indexes of the users whose relation a list contradicts. `kinds`: the kinds of the
    viewer's relation to each."""
    distinct_kinds = set(kinds)
    found: set[int] = set()
    for list_kind, (dates, is_whole, _) in lists.items():
        belonging = set(filter(_BELONGS[list_kind], distinct_kinds))
        if not belonging and dates.keys().isdisjoint(users):
            continue
        found.update(
            index
            for index, (user, user_kinds) in enumerate(zip(users, kinds, strict=True))
            if (user in dates) != (user_kinds in belonging) and (is_whole or user in dates)
        )
    return sorted(found)


def stored_as_listed(lists: OwnLists, other: UserId, row: Relation) -> Relation:
    """The stored relation as the lists show it, which may have been read before it changed.

    A block counts more than a list.
    """
    flags = row.flags
    for list_kind, flag in _FLAGS.items():
        if listed := lists.get(list_kind):
            if other in listed.dates:
                flags |= flag
            elif listed.is_whole:
                flags &= ~flag
    outgoing, incoming = map(
        lists.get, (OwnListKind.OUTGOING_REQUESTS, OwnListKind.INCOMING_REQUESTS)
    )
    kind, since = _request_as_listed(row.kind, row.since, outgoing, other)
    reverse_kind, reverse_since = _request_as_listed(
        row.reverse_kind, row.reverse_since, incoming, other
    )
    return Relation(kinds_of(kind, reverse_kind, flags), since, reverse_since)


def _request_as_listed(
    kind: Kind, since: Millis, listed: Listed | None, user: UserId
) -> tuple[Kind, Millis]:
    """An edge's kind and date, as a list of requests shows them."""
    if listed is None or kind is Kind.BLOCK:
        return kind, since
    date = listed.dates.get(user)
    if date is not None:
        return Kind.REQUEST, date
    if listed.is_whole and kind is Kind.REQUEST:
        return Kind.NONE, Millis(0)
    return kind, since
