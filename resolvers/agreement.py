"""Makes the parts of one response agree with each other about a user.

Lists, counts and relations are cached separately. While a change is pending, the cached values of
one user may include different changes. So the lists that a response has read take precedence: the
total of a list that was read whole is its number of entries, and a relation is the one that the
lists show.
"""

from collections.abc import Sequence
from typing import NamedTuple

from graph.edge import FOLLOWS, Kind, Millis, Pair, UserId
from graph.lists import ListKind
from graph.page import Page, Position, Window
from graph.relation import Relation, RelationColumn, column_of, kinds_of
from resolvers.access import shows_whispers
from resolvers.listed_relation import Evidence, OwnerLists
from resolvers.own_list_agreement import as_in_own_lists
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
    """Make relations agree with the lists in the response. If the lists of both users disagree,
    those of `user` take precedence, or with `prefer_others_lists` those of the other user.

    Relations of absent users stay: what is known of them is newer than any list.
    """
    shown = scope.shown_pages
    if shown is None:
        return relations
    if shown.reads_in_progress:
        await shown.wait()
    if shown.has_own_lists and (user == scope.viewer or scope.viewer in others):
        relations = await as_in_own_lists(scope, shown, user, others, relations)
    owners = shown.owners()
    has_lists = user in owners
    if not has_lists and owners.isdisjoint(others):
        return relations
    absent = await scope.absent()
    if user in absent:
        return relations
    own_lists = _lists_of(scope, shown, user)
    changed: dict[int, Relation] = {}
    unsure: list[_Unsure] = []
    unlisted: list[_Unlisted] = []
    for place, (other, relation) in enumerate(zip(others, relations, strict=True)):
        is_owner = other in owners
        if not (is_owner or (has_lists and own_lists.may_change(relation, other))):
            continue
        if other == user or other in absent:
            continue
        lists = [_lists_of(scope, shown, other), own_lists] if is_owner else [own_lists]
        if prefer_others_lists:
            lists.reverse()
        shows_details = _shows_details(scope, user, other)
        evidence = Evidence(Pair(user, other), lists, scope.viewer, shows_details)
        agreed = evidence.agreed(relation)
        if agreed != relation:
            changed[place] = agreed
            if shows_details and _is_of_list(relation, agreed):
                unsure.append(_Unsure(place, relation, evidence))
            if shows_details:
                unlisted += [
                    _Unlisted(place, relation, evidence, pair)
                    for pair in evidence.possible_whispers(relation, agreed)
                    if _may_see_whisper(scope, pair)
                ]
    if not changed:
        return relations  # nearly always
    if unlisted:
        await _restore_whispers(scope, unlisted, changed)
    if unsure:
        await _restore_details(scope, unsure, changed)
    return column_of([changed.get(place, loaded) for place, loaded in enumerate(relations)])


def _is_of_list(loaded: Relation, agreed: Relation) -> bool:
    """Whether a follow, or its date, comes from a list and not from the loaded relation."""
    pairs = zip(_follow_dates(loaded), _follow_dates(agreed), strict=True)
    return any(date not in (None, loaded_date) for loaded_date, date in pairs)


def _shows_details(scope: Scope, user: UserId, other: UserId) -> bool:
    """Whether the viewer is one of the two users or sees everything. Does not consider
    `whispers_hidden`: see `_may_see_whisper`."""
    return scope.sees_everything or scope.viewer in (user, other)


def _may_see_whisper(scope: Scope, pair: Pair) -> bool:
    """Whether the viewer may see a whisper of this pair."""
    if scope.sees_everything or scope.viewer == pair.source:
        return True
    return scope.viewer == pair.target and not scope.policy.whispers_hidden


class _Unlisted(NamedTuple):
    """A public follow that a whole list without whispers lacks. It has ended, or become a
    whisper."""

    place: int
    """The index of its relation in the column."""
    loaded: Relation
    evidence: Evidence
    pair: Pair
    """Who follows whom."""


async def _restore_whispers(
    scope: Scope, unlisted: Sequence[_Unlisted], changed: dict[int, Relation]
) -> None:
    """Show those follows as whispers in `changed` that are stored as whispers in the forward rows,
    which are exact. The reverse row, which the target reads, lags until a worker has changed it."""
    checks = [Check(pair.source, [pair.target]) for _, _, _, pair in unlisted]
    stored = await scope.stores.reads.reader.read(
        scope.viewer, RelationsOf(checks), consistency=Consistency.ROWS
    )
    for (place, loaded, evidence, pair), (row,) in zip(unlisted, stored, strict=True):
        if row.kind is Kind.WHISPER:
            changed[place] = evidence.with_whisper(loaded, pair)


class _Unsure(NamedTuple):
    """A relation with a follow that was taken from a list."""

    place: int
    """Its index in the column."""
    loaded: Relation
    evidence: Evidence


async def _restore_details(
    scope: Scope, unsure: Sequence[_Unsure], changed: dict[int, Relation]
) -> None:
    """Add the flags and the kind to follows in `changed` that were taken from a list, which shows
    neither flags nor whispers. They are read from the stored follow, if it began at the same time.
    """
    viewer = scope.viewer
    pairs = [evidence.pair for _, _, evidence in unsure]
    checks = [
        Check(other, [user]) if other == viewer else Check(user, [other]) for user, other in pairs
    ]
    stored = await scope.stores.reads.reader.read(
        viewer, RelationsOf(checks), consistency=Consistency.ROWS
    )
    for (place, loaded, evidence), (row,) in zip(unsure, stored, strict=True):
        # A reversed relation has no flags: they belong to the first user, who is not the viewer.
        row = row.reversed if evidence.pair.target == viewer else row
        changed[place] = evidence.agreed(_as_stored(loaded, changed[place], row))


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
    """The page without the users who are missing in another list of the owner that is shown whole.
    If the page and both other lists are whole: all users who are in both."""
    _, following, followers, _ = _lists_of(scope, shown, owner)
    lists = [listed for listed in (following, followers) if listed and listed.is_whole]
    entries = [entry for entry in page.entries if all(entry[1] in listed.dates for listed in lists)]
    if is_whole and following and followers and len(lists) == 2:
        friends = following.dates.keys() & followers.dates.keys()
        counts = scope.profiles.access_facts([owner], 1).counts[0]
        if following.shows_whispers and (counts.whispers or counts.whispered):
            friends &= {user for _, user in entries}  # others in both lists may be whispers
        dates = following.dates, followers.dates
        newest = [Position(max(date[user] for date in dates), user) for user in friends]
        entries = sorted(newest, reverse=True)
    return page if tuple(entries) == page.entries else Page(tuple(entries), page.more)


def _lists_of(scope: Scope, shown: ShownPages, owner: UserId) -> OwnerLists:
    """The lists of a user in the response."""

    def listed(kind: ListKind) -> Listed | None:
        return shown.listed(kind, owner, shows_whispers=shows_whispers(scope, kind, owner))

    return OwnerLists(
        owner, listed(ListKind.FOLLOWING), listed(ListKind.FOLLOWERS), listed(ListKind.FRIENDS)
    )
