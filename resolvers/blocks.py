"""Blocks between the viewer and the users that a request shows.

A viewer with few blocks is answered from the cached relations. A viewer with many blocks, or with
more followers than a cached hash holds, is answered from the tables: only about the users that are
asked about, so the work does not depend on the number of blocks.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from graph.counts import Counts
from graph.edge import UserId
from resolvers.loader import ColumnLoader
from resolvers.scope import Scope
from storage.ports.lists import Blocks

CACHED_MAX = 1_000
"""A viewer with more blocks, in both directions together, is looked up in the tables: filling the
cached relations would read all of them."""

FOLLOWERS_CACHED_MAX = 5_000
"""A viewer with more followers is looked up in the tables, too: the cache does not hold their
reverse edges."""


async def kinds_of_blocks(
    scope: Scope, viewer_counts: Counts, users: Sequence[UserId]
) -> Sequence[int]:
    """The kinds of the viewer's relation to each user. Only blocks are sure to be included."""
    if are_blocks_cached(viewer_counts):
        return [relation.kinds for relation in await scope.viewer_relations.get_many(users)]
    if scope.viewer_blocks is None:
        scope.viewer_blocks = ColumnLoader(
            partial(
                _read_blocks, scope.stores.reads.blocks, scope.must_have_viewer(), viewer_counts
            )
        )
    return await scope.viewer_blocks.get_many(users)


def are_blocks_cached(viewer_counts: Counts) -> bool:
    """Whether the blocks of a viewer with these counts are read from the cached relations."""
    return (
        viewer_counts.blocks + viewer_counts.blocked <= CACHED_MAX
        and viewer_counts.followers + viewer_counts.whispered <= FOLLOWERS_CACHED_MAX
    )


async def _read_blocks(
    blocks: Blocks, viewer: UserId, counts: Counts, users: Sequence[UserId]
) -> Mapping[UserId, int]:
    blocking = users if counts.blocks else ()
    found = await blocks.among(viewer, blocking, users if counts.blocked else ())
    return {user: found.get(user, 0) for user in users}
