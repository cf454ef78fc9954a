"""A follow request as a GraphQL type."""

from collections.abc import Sequence
from datetime import datetime

import strawberry

from engine import Parents, batched, row_classes, weighed
from graph.edge import Kind, Pair, UserId
from resolvers.scope import Scope
from schema.context import Info, scope_of
from schema.node import REQUEST_PREFIX, LazyUser, Node
from schema.rows import RequestRow, date
from schema.weights import QUERY
from storage.ports.reader import Check, RelationsOf


@strawberry.type(description="A pending request to follow a user who approves their followers.")
@row_classes(RequestRow)
class FollowRequest(Node):
    @batched(description="The id: `request:` and the ids of `from` and `to`, separated by a colon.")
    def id(rows: Parents[RequestRow]) -> list[strawberry.ID]:
        return [strawberry.ID(f"{REQUEST_PREFIX}:{row.source}:{row.target}") for row in rows]

    @batched(name="from", graphql_type=LazyUser, description="The user who wants to follow.")
    def from_(rows: Parents[RequestRow]) -> list[UserId]:
        return [row.source for row in rows]

    @batched(graphql_type=LazyUser, description="The user who receives the request.")
    def to(rows: Parents[RequestRow]) -> list[UserId]:
        return [row.target for row in rows]

    @batched(description="When the request was sent.")
    def requested_at(rows: Parents[RequestRow]) -> list[datetime]:
        return [date(row.since) for row in rows]

    @batched(
        metadata=weighed(call=QUERY, row=5),
        description="The message of the request. Null if it has none.",
    )
    async def message(rows: Parents[RequestRow], info: Info) -> list[str | None]:
        pairs = [Pair(row.source, row.target) for row in rows]
        notes = await scope_of(info).stores.reads.edge_notes.get_many(pairs)
        return [note.message if note else None for note in map(notes.get, pairs)]


async def requests_of(scope: Scope, pairs: Sequence[Pair]) -> list[RequestRow | None]:
    """Return the request of each pair; None if there is none or the viewer may not see it.

    Users see the requests that they sent or received, services see all.
    """
    viewer = scope.viewer
    absent = await scope.absent()
    seen = [
        pair
        for pair in pairs
        if scope.sees_everything or (viewer in pair and absent.isdisjoint({*pair} - {viewer}))
    ]
    checks = [_check(pair, viewer) for pair in seen]
    if not checks:
        return [None] * len(pairs)
    found = await scope.stores.reads.reader.read(
        viewer, RelationsOf(checks), consistency=scope.consistency
    )
    rows: dict[Pair, RequestRow] = {}
    for pair, check, (relation,) in zip(seen, checks, found, strict=True):
        forward = relation if check.user == pair.source else relation.reversed
        if forward.kind is Kind.REQUEST:
            rows[pair] = RequestRow(*pair, forward.since)
    return [rows.get(pair) for pair in pairs]


def _check(pair: Pair, viewer: UserId | None) -> Check:
    """The check of a request: from the side of the viewer, whose rows are written first. In pairs
    without the viewer, from the side of the sender."""
    user, other = pair.reversed if pair.target == viewer else pair
    return Check(user, [other])
