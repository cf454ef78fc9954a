"""Makes the parts of one response agree with each other about a user.

Lists, counts and relations are cached apart, and the cached values of one user may be some
milliseconds apart while a change is on its way. So what a response has read of a user's lists
decides what it says about them elsewhere: a list that was read whole has as many entries as it
shows, and a relation is the one that the list shows.
"""

from collections.abc import Sequence
from typing import NamedTuple

from graph.edge import FOLLOWS, Kind, Millis, UserId
from graph.list_kind import ListKind
from graph.page import Page, Position, Window
from graph.relation import SELF, Relation, RelationColumn, column_of, kinds_of
from resolvers.scope import Scope
from resolvers.shown_pages import Listed, ShownPages, is_unbounded
from storage.ports.reader import Check, Consistency, RelationsOf


async def as_listed(
    scope: Scope,
    user: UserId,
    others: Sequence[UserId],
    relations: RelationColumn,
    *,
    prefer_others_lists: bool = False,
) -> RelationColumn:
    """Make relations agree with the lists in the response. If the lists of both users disagree, the
    lists of `user` count, or with `prefer_others_lists` those of the other user.

    Relations of absent users stay: what is known of them is newer than any list.
    """
    shown = scope.shown_pages
    if shown is None:
        return relations
    if shown.reads_in_progress:
        await shown.wait()
    owners = shown.owners()
    if user not in owners and owners.isdisjoint(others):
        return relations
    absent = await scope.absent()
    if user in absent:
        return relations
    following, followers = shown.listed(_FOLLOWING, user), shown.listed(_FOLLOWERS, user)
    changed: dict[int, Relation] = {}
    unsure: list[tuple[int, UserId, Relation]] = []
    for place, (other, relation) in enumerate(zip(others, relations, strict=True)):
        kinds, since, reverse_since = relation
        if (
            other in owners
            or (following and _differs(kinds & 15, since, following, other))
            or (followers and _differs(kinds >> 4 & 15, reverse_since, followers, other))
        ):
            evidence = _Evidence(
                [(following, other), (shown.listed(_FOLLOWERS, other), user)],
                [(followers, other), (shown.listed(_FOLLOWING, other), user)],
            )
            agreed = _agreed(relation, evidence, prefer_others_lists=prefer_others_lists)
            if agreed != relation and other != user and other not in absent:
                changed[place] = agreed
                if _is_of_list(relation, agreed) and _shows_details(scope, user, other):
                    unsure.append((place, other, relation))
    if not changed:
        return relations  # nearly always
    if unsure:
        await _restore_details(scope, user, unsure, changed)
    return column_of([changed.get(place, loaded) for place, loaded in enumerate(relations)])


def _is_of_list(loaded: Relation, agreed: Relation) -> bool:
    """Whether a follow, or its date, comes from a list and not from the loaded relation."""
    pairs = zip(_follow_dates(loaded), _follow_dates(agreed), strict=True)
    return any(date not in (None, loaded_date) for loaded_date, date in pairs)


def _shows_details(scope: Scope, user: UserId, other: UserId) -> bool:
    """Whether the viewer may see whispers and flags between the two."""
    return scope.sees_everything or scope.viewer in (user, other)


async def _restore_details(
    scope: Scope,
    user: UserId,
    unsure: Sequence[tuple[int, UserId, Relation]],
    changed: dict[int, Relation],
) -> None:
    """Add the flags and the kind to follows in `changed` that were taken from a list, which shows
    neither flags nor whispers. They are read from the stored follow, if it began at the same time.

    `unsure` names these follows: the index in `changed`, the other user, and the loaded relation.
    """
    viewer = scope.viewer
    checks = [
        Check(other, [user]) if other == viewer else Check(user, [other]) for _, other, _ in unsure
    ]
    stored = await scope.stores.reads.reader.read(
        viewer, RelationsOf(checks), consistency=Consistency.ROWS
    )
    for (place, other, loaded), (row,) in zip(unsure, stored, strict=True):
        # A reversed relation has no flags: they belong to `user`, who is not the viewer.
        row = row.reversed if other == viewer else row
        changed[place] = _as_stored(loaded, changed[place], row)


def _as_stored(loaded: Relation, agreed: Relation, row: Relation) -> Relation:
    """`agreed`, with the kinds and flags of `row` for follows that differ from `loaded` and began
    when the stored follow did."""
    (loaded_since, loaded_reverse), (stored_since, stored_reverse) = map(
        _follow_dates, (loaded, row)
    )
    since, reverse = _follow_dates(agreed)
    kind, reverse_kind, flags = agreed.kind, agreed.reverse_kind, agreed.flags
    if since != loaded_since and since == stored_since:
        kind, flags = row.kind, row.flags
    if reverse != loaded_reverse and reverse == stored_reverse:
        reverse_kind = row.reverse_kind
    return Relation(kinds_of(kind, reverse_kind, flags), agreed.since, agreed.reverse_since)


def _follow_dates(relation: Relation) -> tuple[Millis | None, Millis | None]:
    """The dates since which there has been a follow in each direction. None: no follow."""
    return (
        relation.since if relation.kind in FOLLOWS else None,
        relation.reverse_since if relation.reverse_kind in FOLLOWS else None,
    )


async def friends_as_listed(
    scope: Scope, shown: ShownPages, owners: Sequence[UserId], window: Window, pages: Sequence[Page]
) -> Sequence[Page]:
    """The pages of friends, each with those whom the response shows in both other lists of the
    owner, as far as it shows these lists."""
    if shown.reads_in_progress > 1:
        await shown.wait_for_others()
    owners_shown = shown.owners()
    if owners_shown.isdisjoint(owners):
        return pages  # nearly always
    return [
        _friends(scope, shown, owner, page, is_whole=is_unbounded(window) and not page.more)
        if owner in owners_shown
        else page
        for owner, page in zip(owners, pages, strict=True)
    ]


def _friends(scope: Scope, shown: ShownPages, owner: UserId, page: Page, *, is_whole: bool) -> Page:
    following, followers = shown.listed(_FOLLOWING, owner), shown.listed(_FOLLOWERS, owner)
    lists = [listed for listed in (following, followers) if listed and listed.is_whole]
    entries = [entry for entry in page.entries if all(entry[1] in listed.dates for listed in lists)]
    counts = scope.profiles.access_facts([owner], 1).counts[0]
    shows_whispers = scope.sees_everything or owner == scope.viewer
    has_whispers = shows_whispers and (counts.whispers or counts.whispered)
    if is_whole and following and followers and len(lists) == 2 and not has_whispers:
        dates = followers.dates
        both = following.dates.keys() & dates.keys()
        newest = [Position(max(following.dates[user], dates[user]), user) for user in both]
        entries = sorted(newest, reverse=True)
    return page if tuple(entries) == page.entries else Page(tuple(entries), page.more)


class _Evidence(NamedTuple):
    """The lists that show each direction of a relation, each with the user to look for: first that
    of the relation's first user, then that of the second."""

    forward: list[tuple[Listed | None, UserId]]
    reverse: list[tuple[Listed | None, UserId]]


def _differs(kind: int, since: Millis, listed: Listed, other: UserId) -> bool:
    """Whether a list may show another edge than this one."""
    date = listed.dates.get(other)
    return kind == Kind.FOLLOW and listed.is_whole if date is None else date != since


def _agreed(relation: Relation, evidence: _Evidence, *, prefer_others_lists: bool) -> Relation:
    if relation is SELF:
        return relation
    order = -1 if prefer_others_lists else 1
    kind, since = _direction_as_listed(relation.kind, relation.since, evidence.forward[::order])
    reverse_kind, reverse_since = _direction_as_listed(
        relation.reverse_kind, relation.reverse_since, evidence.reverse[::order]
    )
    return Relation(kinds_of(kind, reverse_kind, relation.flags), since, reverse_since)


_FOLLOWING, _FOLLOWERS = ListKind.FOLLOWING, ListKind.FOLLOWERS


def _direction_as_listed(
    kind: Kind, since: Millis, evidence: Sequence[tuple[Listed | None, UserId]]
) -> tuple[Kind, Millis]:
    """One direction of a relation, from the first list that shows the edge or rules it out.

    The lists of other users show no whispers, so their absence rules out nothing. A block is in no
    list.
    """
    for listed, user in evidence:
        if listed is None or kind is Kind.BLOCK:
            continue
        date = listed.dates.get(user)
        if date is not None:
            return (kind, date) if kind is Kind.WHISPER else (Kind.FOLLOW, date)
        if listed.is_whole:
            return (Kind.NONE, Millis(0)) if kind is Kind.FOLLOW else (kind, since)
    return kind, since
