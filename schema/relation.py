"""How one user stands to another, as a type. Knows nothing of how it is read."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import Enum
from itertools import compress, count
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from engine import Parents, batched, derived, of_rows, places
from graph import relation as rules
from graph.edge import Millis, Pair
from schema.context import Info, scope_of
from schema.node import RELATION_PREFIX, Node
from schema.notes import notes_of
from schema.rows import KINDS, RELATION, SOURCE, TARGET, RelationRow, date

if TYPE_CHECKING:
    from schema.user import User

LazyUser = Annotated["User", strawberry.lazy("schema.user")]


@strawberry.enum(description="How one user stands to another, in one word.")
class RelationState(Enum):
    NONE = strawberry.enum_value("NONE", description="Neither follows the other.")
    FOLLOWING = strawberry.enum_value("FOLLOWING", description="The first follows the second.")
    FOLLOWED_BY = strawberry.enum_value("FOLLOWED_BY", description="The second follows the first.")
    FRIENDS = strawberry.enum_value("FRIENDS", description="Both follow each other.")
    SELF = strawberry.enum_value("SELF", description="They are one and the same user.")


@strawberry.type(
    description="The relationship between the user `from` and the user `to`, in both directions, "
    "as far as the viewer may see it. Hidden parts look as if they did not exist."
)
@of_rows(tuple)
class Relation(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `relation:`, the id of `from`, a colon, and the id of `to`.",
        ready=True,
    )
    def id(rows: Parents[RelationRow]) -> list[str]:
        ends = zip(places(rows, SOURCE), places(rows, TARGET), strict=True)
        return [f"{RELATION_PREFIX}:{source}:{target}" for source, target in ends]

    @batched(name="from", description="The user from whose side this is told.")
    def from_(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", places(rows, SOURCE))

    @batched(description="The user whom this is about.")
    def to(rows: Parents[RelationRow]) -> list[LazyUser]:
        return cast("list[User]", places(rows, TARGET))

    state: RelationState = derived(
        KINDS,
        lambda kinds: RelationState[rules.state(kinds).name],
        description="Both directions in one word, from the side of `from`.",
    )
    following: bool = derived(KINDS, rules.follows, description="Whether `from` follows `to`.")
    followed_by: bool = derived(KINDS, rules.followed, description="Whether `to` follows `from`.")

    whispering: bool = derived(
        KINDS,
        rules.whispers,
        description="Whether `from` follows `to` by a whisper. To all but these two: false.",
    )
    requested: bool = derived(
        KINDS,
        rules.requests,
        description="Whether `from` has asked to follow `to`, and waits. To all but these two: "
        "false.",
    )
    requested_by: bool = derived(
        KINDS,
        rules.requested,
        description="Whether `to` has asked to follow `from`, and waits. To all but these two: "
        "false.",
    )
    blocking: bool = derived(
        KINDS, rules.blocks, description="Whether `from` blocks `to`. To all but `from`: false."
    )
    muted: bool = derived(
        KINDS, rules.mutes, description="Whether `from` has muted `to`. To all but `from`: false."
    )
    close_follow: bool = derived(
        KINDS,
        rules.is_close_follow,
        description="Whether `to` is a close follow of `from`. To all but `from`: false.",
    )

    @batched(description="Since when `from` has followed `to`; null if they do not.", ready=True)
    def followed_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.follows, _SINCE)

    @batched(description="Since when `to` has followed `from`; null if they do not.", ready=True)
    def followed_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.followed, _BACK_SINCE)

    @batched(
        description="Since when `from` has waited for approval; null if they do not.", ready=True
    )
    def requested_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.requests, _SINCE)

    @batched(
        description="Since when `to` has waited for approval; null if they do not.", ready=True
    )
    def requested_by_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.requested, _BACK_SINCE)

    @batched(
        description="Since when `from` has blocked `to`; null if they do not. To all but `from`: "
        "null.",
        ready=True,
    )
    def blocked_at(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.blocks, _SINCE)

    @batched(
        description="When the mute of `to` by `from` ends by itself; null if it does not, or if "
        "there is none. To all but `from`: null."
    )
    async def muted_until(rows: Parents[RelationRow], info: Info) -> list[datetime | None]:
        pairs = [Pair(source, target) for source, target, kinds, _ in rows if rules.mutes(kinds)]
        notes = await notes_of(scope_of(info), pairs) if pairs else {}
        ends = {pair: note.muted_until for pair, note in notes.items()}
        found = (ends.get(Pair(source, target)) for source, target, *_ in rows)
        return [None if until is None else date(until) for until in found]

    @batched(
        description="Since when both have followed each other; null if they are no friends.",
        ready=True,
    )
    def friends_since(rows: Parents[RelationRow]) -> list[datetime | None]:
        return _dates(rows, rules.is_friends, lambda both: max(both.since, both.back_since))


_SINCE: Callable[[rules.Relation], Millis] = attrgetter("since")
_BACK_SINCE: Callable[[rules.Relation], Millis] = attrgetter("back_since")


def _dates(
    rows: Iterable[RelationRow],
    says: Callable[[int], bool],
    since: Callable[[rules.Relation], Millis],
) -> list[datetime | None]:
    """Since when it has been so, where the kinds say that it is."""
    kinds, relations = places(rows, KINDS), list(places(rows, RELATION))
    found: list[datetime | None] = [None] * len(kinds)
    at = datetime.fromtimestamp  # `date`, but for the call
    for place in compress(count(), kinds):  # strangers, whose kinds are 0, are most
        if says(kinds[place]) and (began := since(relations[place])):
            found[place] = at(began / 1000, UTC)
    return found
