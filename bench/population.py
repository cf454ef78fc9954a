"""The users of a filled graph that the benchmark requests, the same in every run."""

from dataclasses import dataclass, replace
from random import Random

import asyncpg

from graph.cursor import write_cursor
from graph.edge import UserId
from graph.lists import ListKind, ListOf
from graph.page import Position
from graph.space import running_in

Deep = tuple[int, str]
"""A whale, and a cursor of their followers."""

WORKING_SET = 2_000
"""Ordinary users with warm caches: few enough for a small Redis."""
FRESH = 20_000
"""More ordinary users, of whom nothing is cached when a cold round begins."""
WHALES = 3
PAGE = 20
DEEP = 999 * PAGE
"""The number of entries before the 1,000th page."""
DEEP_PAGES = 10
NEIGHBOUR_SHARE = 0.2
"""About four checks of five find no relation."""

_ORDINARY = """
SELECT c.user_id FROM following_count c JOIN follower_count r USING (user_id)
WHERE c.follows BETWEEN 10 AND 900 AND r.follows BETWEEN 1 AND 4000
ORDER BY md5(c.user_id::text) LIMIT $1
"""
_WHALES = "SELECT user_id, follows FROM follower_count ORDER BY follows DESC, user_id LIMIT $1"
_NEIGHBOURS = """
SELECT from_user_id, array_agg(to_user_id ORDER BY to_user_id) FROM following
WHERE from_user_id = ANY ($1) AND kind = 1 GROUP BY 1
"""
_DEEP = """
SELECT since, from_user_id FROM follower WHERE to_user_id = $1 AND kind = 1
ORDER BY since DESC, from_user_id DESC OFFSET $2 LIMIT $3
"""
_SIZE = "SELECT greatest(max(user_id), 1) FROM follower_count"


@dataclass(frozen=True, slots=True)
class Population:
    """Users by their part in the benchmark. Ordinary ones have 10 to 900 followings and at most
    4,000 followers."""

    ordinary: list[int]
    fresh: list[int]
    """More ordinary users, of whom nothing is cached."""
    whales: list[int]
    neighbours: dict[int, list[int]]
    """The users whom each ordinary or fresh user follows."""
    highest_id: int
    deep: list[Deep]
    """Cursors after about 999 pages of each whale's followers."""

    def with_fresh_users(self) -> "Population":
        """The same, with the users without cached values as the ordinary users."""
        return replace(self, ordinary=self.fresh)

    def others(self, user: int, count: int, chance: Random) -> list[str]:
        """`count` ids to check `user` with, all different: some of followed users, most of others.
        One fewer if the user's own id was drawn."""
        neighbours = self.neighbours[user]
        limit = max(1, int(count * NEIGHBOUR_SHARE))
        chosen = dict.fromkeys(chance.sample(neighbours, min(len(neighbours), limit)))
        while len(chosen) < count:
            chosen[chance.randint(1, self.highest_id)] = None
        chosen.pop(user, None)
        ids = [*map(str, chosen)]
        chance.shuffle(ids)
        return ids


async def population(database_url: str, space: str) -> Population:
    """The population of a filled space."""
    connection = await asyncpg.connect(database_url, server_settings={"search_path": space})
    try:
        drawn = [row[0] for row in await connection.fetch(_ORDINARY, WORKING_SET + FRESH)]
        whales = [row[0] for row in await connection.fetch(_WHALES, WHALES)]
        neighbours = {row[0]: row[1] for row in await connection.fetch(_NEIGHBOURS, drawn)}
        highest = await connection.fetchval(_SIZE)
        with running_in(space):
            deep = [pair for whale in whales for pair in await _deep(connection, whale)]
    finally:
        await connection.close()
    if len(drawn) <= WORKING_SET:
        raise ValueError(f"The graph of {space} is too small for the bench: make it larger.")
    return Population(drawn[:WORKING_SET], drawn[WORKING_SET:], whales, neighbours, highest, deep)


async def _deep(connection: "asyncpg.Connection[asyncpg.Record]", whale: int) -> list[Deep]:
    """Cursors before the 1,000th page of a whale's followers, and before some pages after it."""
    followers = ListOf(ListKind.FOLLOWERS, UserId(whale))
    rows = await connection.fetch(_DEEP, whale, DEEP - 1, PAGE * (DEEP_PAGES + 1))
    return [(whale, write_cursor(Position(*row), followers)) for row in rows[:-PAGE:PAGE]]
