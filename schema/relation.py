"""The relationship between two users as a GraphQL type."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import Enum
from itertools import compress, count
from operator import attrgetter

import strawberry
from strawberry import enum_value

from engine import Parents, batched, column_of, derived, row_classes, weighed
from graph import relation as rules
from graph.edge import Millis, Pair, UserId
from graph.follow_group import GroupId
from resolvers.follow_groups import groups_of
from resolvers.private_notes import notes_of
from resolvers.relation_versions import versions_to
from schema.context import Info, scope_of
from schema.follow_group import group_text
from schema.node import RELATION_PREFIX, LazyUser, Node
from schema.rows import KINDS, RELATION, SOURCE, TARGET, RelationRow, UserRow, date
from schema.weights import QUERY


@strawberry.enum(description="The follows between two users in both directions, in one word.")
class RelationState(Enum):
    NONE = enum_value("NONE", description="Neither user follows the other.")
    FOLLOWING = enum_value(
        "FOLLOWING", description="`from` follows `to`, and the two users are not friends."
    )
    FOLLOWED_BY = enum_value(
        "FOLLOWED_BY", description="`to` follows `from`, and `from` does not follow `to`."
    )
    FRIENDS = enum_value(
        "FRIENDS", description="The users follow each other, neither by a whisper."
    )
    SELF = enum_value("SELF", description="`from` and `to` are the same user.")


@strawberry.enum(description="Which activity of a followed user the follower is notified of.")
class FollowNotifications(Enum):
    ALL = enum_value("ALL", description="The follower asked to be notified of all activity.")
    NONE = enum_value("NONE", description="The follower did not ask to be notified.")


@strawberry.type(
    description="The relationship between the users `from` and `to`, in both directions. What the "
    "viewer may not see is returned as if it did not exist."
)
@row_classes(tuple)
class Relation(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `relation:` and the ids of `from` and `to`, separated by a colon.",
        serialized=True,
    )
    def id(rows: Parents[RelationRow]) -> list[str]:
        ends = zip(column_of(rows, SOURCE), column_of(rows, TARGET), strict=True)
        return [f"{RELATION_PREFIX}:{source}:{target}" for source, target in ends]

    @batched(name="from", graphql_type=LazyUser, description="The first user.")
    def from_(rows: Parents[RelationRow]) -> Sequence[UserRow]:
        return column_of(rows, SOURCE)

    @batched(graphql_type=LazyUser, description="The second user.")
    def to(rows: Parents[RelationRow]) -> Sequence[UserRow]:
        return column_of(rows, TARGET)

    state: RelationState = derived(
        KINDS,
        lambda kinds: RelationState[rules.state(kinds).name],
        description="The follows between the two users in both directions, in one word.",
    )
    following: bool = derived(KINDS, rules.follows, description="Whether `from` follows `to`.")
    followed_by: bool = derived(
        KINDS, rules.followed_by, description="Whether `to` follows `from`."
    )

    whispering: bool = derived(
        KINDS,
        rules.whispers,
        description="Whether `from` follows `to` by a whisper. Only these two users and services "
        "see it; for others it is false.",
    )
    requested: bool = derived(
        KINDS,
        rules.requests,
        description="Whether a request of `from` to follow `to` is pending. Only these two users "
        "and services see it; for others it is false.",
    )
    requested_by: bool = derived(
        KINDS,
        rules.requested_by,
        description="Whether a request of `to` to follow `from` is pending. Only these two users "
        "and services see it; for others it is false.",
    )
    blocking: bool = derived(
        KINDS,
        rules.blocks,
        description="Whether `from` blocks `to`. Only `from` and services see it; for others "
        "it is false.",
    )
    muted: bool = derived(
        KINDS,
        rules.mutes,
        description="Whether `from` mutes `to`. Only `from` and services see it; for others "
        "it is false.",
    )
    close_follow: bool = derived(
        KINDS,
        rules.is_close_follow,
        description="Whether `to` is a close follow of `from`. Only `from` and services see it; "
        "for others it is false.",
    )

    notify: FollowNotifications = derived(
        KINDS,
        lambda kinds: (
            FollowNotifications.ALL if rules.notifies(kinds) else FollowNotifications.NONE
        ),
        description="Whether `from` asked to be notified of what `to` does. Only `from` and "
        "services see it; for others, and if `following` is false, it is NONE.",
    )

    @batched(
        description="When `from` began to follow `to`. Null if `following` is false.",
        serialized=True,
    )
    def followed_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.follows, _SINCE)

    @batched(
        description="When `to` began to follow `from`. Null if `followedBy` is false.",
        serialized=True,
    )
    def followed_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.followed_by, _REVERSE_SINCE)

    @batched(
        description="When `from` sent the pending request. Null if `requested` is false.",
        serialized=True,
    )
    def requested_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.requests, _SINCE)

    @batched(
        description="When `to` sent the pending request. Null if `requestedBy` is false.",
        serialized=True,
    )
    def requested_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.requested_by, _REVERSE_SINCE)

    @batched(description="When `from` blocked `to`. Null if `blocking` is false.", serialized=True)
    def blocked_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.blocks, _SINCE)

    @batched(
        metadata=weighed(call=QUERY, row=5),
        description="When the mute of `to` by `from` ends. Null if `muted` is false, or the mute "
        "has no end.",
    )
    async def muted_until(rows: Parents[RelationRow], info: Info) -> list[datetime | None]:
        # Tested once for each value, because there are few and a test takes 1 µs.
        mutes = {kinds for kinds in set(column_of(rows, KINDS)) if rules.mutes(kinds)}
        if not mutes:
            return [None] * len(rows)
        muted = {(source, target) for source, target, kinds, _ in rows if kinds in mutes}
        pairs = [Pair(source, target) for source, target in muted]
        notes = await scope_of(info).stores.reads.edge_notes.get_many(pairs)
        mute_ends: dict[tuple[UserId, UserId], datetime] = {
            pair: date(note.muted_until)
            for pair, note in notes.items()
            if note.muted_until is not None
        }
        return [mute_ends.get((source, target)) for source, target, *_ in rows]

    @batched(
        metadata=weighed(call=QUERY, row=1),
        description="The private note of `from` about `to`, up to 200 characters. Only `from` sees "
        "it; for others, also for services, it is null. Null without a note.",
    )
    async def note(rows: Parents[RelationRow], info: Info) -> list[str | None]:
        return await notes_of(scope_of(info), column_of(rows, SOURCE), column_of(rows, TARGET))

    @batched(
        graphql_type=list[strawberry.ID] | None,
        metadata=weighed(call=QUERY, row=5),
        description="The ids of the groups of `from` that `to` is in, in the order of the groups. "
        "Only `from` sees them; for others, also for services, it is null.",
    )
    async def group_ids(rows: Parents[RelationRow], info: Info) -> list[list[str] | None]:
        sources, targets = column_of(rows, SOURCE), column_of(rows, TARGET)
        scope = scope_of(info)
        found = await groups_of(scope, sources, targets)
        if scope.viewer is None:
            return [None] * len(rows)
        # Each text is made once: a thousand relations can be in a hundred groups each.
        own = frozenset[GroupId]().union(*filter(None, found))
        texts = {group: group_text(scope.viewer, group) for group in own}
        return [None if groups is None else [texts[group] for group in groups] for groups in found]

    @batched(
        description="When the two users became friends: the date of the later of their two "
        "follows. Null if they are not friends.",
        serialized=True,
    )
    def friends_since(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.is_friends, lambda both: max(both.since, both.reverse_since))

    @batched(
        metadata=weighed(call=QUERY, row=10),
        description="The version of the relationship as the viewer sees it, for the input field "
        "`ifVersion` of the mutations. It changes with every change that the viewer can notice. "
        "Null unless `from` is the viewer and `to` another user. Costs one "
        "database query.",
    )
    async def version(rows: Parents[RelationRow], info: Info) -> list[str | None]:
        scope = scope_of(info)
        viewer = scope.viewer
        own_relations = {
            target: relation for source, target, _, relation in rows if source == viewer
        }
        versions = (
            await versions_to(scope, viewer, own_relations) if viewer and own_relations else {}
        )
        return [versions.get(target) if source == viewer else None for source, target, *_ in rows]


_SINCE: Callable[[rules.Relation], Millis] = attrgetter("since")
_REVERSE_SINCE: Callable[[rules.Relation], Millis] = attrgetter("reverse_since")


def _dates(
    rows: Iterable[RelationRow],
    has_date: Callable[[int], bool],
    since: Callable[[rules.Relation], Millis],
) -> list[datetime | None]:
    """Return the date of each row for which `has_date` is true, else None."""
    kinds, relations = column_of(rows, KINDS), list(column_of(rows, RELATION))
    found: list[datetime | None] = [None] * len(kinds)
    at = datetime.fromtimestamp  # not `date`, to save one call per row
    for place in compress(count(), kinds):  # skips strangers, whose kinds are 0: most rows
        if has_date(kinds[place]) and (began := since(relations[place])):
            found[place] = at(began / 1000, UTC)
    return found
