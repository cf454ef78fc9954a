"""The benchmark's answers, written by hand from the same cached values, without GraphQL.

Requests are not validated, and a cache miss is an error.
"""

from base64 import urlsafe_b64encode
from binascii import crc32
from datetime import UTC, datetime
from struct import Struct
from typing import Any, cast

from graph.cursor import VERSION
from graph.edge import Kind, UserId
from graph.lists import ListKind
from graph.space import tag_of
from storage.cache.codec.lists import bytes_of_entries
from storage.cache.codec.relations import MARKER
from storage.redis.keys import Keys
from storage.redis.wire import Preformatted, Wire

Variables = dict[str, Any]
Row = dict[str, Any]

STATES = ("NONE", "FOLLOWING", "FOLLOWED_BY", "FRIENDS")
ONLY_STATES: list[Row] = [{"state": state} for state in STATES]
SELF: Row = {"state": "SELF"}

_FOLLOW = int(Kind.FOLLOW)
_unpack_relation = Struct(">BQ8xBQ8x").unpack
_unpack_entries = Struct(">qq").iter_unpack
_unpack_totals = Struct(">xqqq").unpack_from
_pack_position = Struct(">Bqq").pack
_pack_list = Struct(">Bq").pack


class RawAnswers:
    """Each method answers the operation of `bench.shapes` that has the method's name."""

    def __init__(self, wire: Wire, space: str) -> None:
        self._send = wire.send
        self._keys = Keys(space)
        self._tag = tag_of(space)

    async def states(self, variables: Variables, _: bytes) -> Row:
        values = await self._values(variables)
        return {"user": {"relationWith": [ONLY_STATES[_state(value)] for value in values]}}

    async def relations(self, variables: Variables, _: bytes) -> Row:
        values = await self._values(variables)
        return {"user": {"relationWith": list(map(_relation, variables["ids"], values))}}

    async def following(self, variables: Variables, _: bytes) -> Row:
        page = await self._page(ListKind.FOLLOWING, 0, variables["user"])
        return {"user": {"following": page}}

    async def followers(self, variables: Variables, _: bytes) -> Row:
        page = await self._page(ListKind.FOLLOWERS, 1, variables["user"])
        return {"user": {"followers": page}}

    async def nested(self, variables: Variables, viewer: bytes) -> Row:
        viewer_id, ids = UserId(int(viewer)), variables["ids"]
        end = bytes_of_entries(11) - 1
        keys = [self._keys.head(ListKind.FOLLOWING, id_) for id_ in ids]
        pages = (
            await self._send(
                [
                    ("GET", self._keys.pending(viewer_id)),
                    *(("GETRANGE", key, 0, end) for key in keys),
                ]
            )
        )[1:]
        found = [[other for _, other in _unpack_entries(page[1:])][:10] for page in pages]
        others = [other for page in found for other in page]
        (replies,) = await self._send([("HMGET", self._keys.relations(viewer_id), MARKER, *others)])
        values = iter(replies[1:])
        users = [
            {
                "id": id_,
                "following": {
                    "edges": [_edge_with_state(other, next(values), viewer_id) for other in page]
                },
            }
            for id_, page in zip(ids, found, strict=True)
        ]
        return {"users": users}

    async def counts(self, variables: Variables, _: bytes) -> Row:
        ids = variables["ids"]
        (values,) = await self._send([Preformatted(("MGET", *self._keys.profiles(ids)))])
        return {"users": list(map(_counts, ids, values))}

    async def _values(self, variables: Variables) -> list[bytes | None]:
        key = self._keys.relations(variables["user"])
        ((_, *values),) = await self._send(
            [Preformatted(("HMGET", key, MARKER, *variables["ids"]))]
        )
        return cast("list[bytes | None]", values)

    async def _page(self, kind: ListKind, total_index: int, user: str) -> Row:
        key = self._keys.head(kind, UserId(int(user)))
        page, profile = await self._send(
            [
                ("GETRANGE", key, 0, bytes_of_entries(21) - 1),
                ("GET", self._keys.profile(UserId(int(user)))),
            ]
        )
        entries = list(_unpack_entries(page[1:]))
        seed = crc32(_pack_list(kind, int(user)), self._tag)
        edges = [_edge(since, other, seed) for since, other in entries[:20]]
        return {
            "totalCount": _unpack_totals(profile)[total_index],
            "edges": edges,
            "pageInfo": {
                "hasNextPage": len(entries) > 20,
                "endCursor": edges[-1]["cursor"] if edges else None,
            },
        }


def _date(since: int) -> datetime:
    return datetime.fromtimestamp(since / 1000, UTC)


def _state(value: bytes | None) -> int:
    """The index in STATES of a cached relation. None: there is no edge."""
    return 0 if value is None else (value[0] & 7 == _FOLLOW) + 2 * (value[17] & 7 == _FOLLOW)


def _relation(other: str, value: bytes | None) -> Row:
    kind, since, reverse_kind, reverse_since = _unpack_relation(value) if value else (0, 0, 0, 0)
    follows, is_followed = kind & 15 == _FOLLOW, reverse_kind & 15 == _FOLLOW
    return {
        "to": {"id": other},
        "state": STATES[follows + 2 * is_followed],
        "following": follows,
        "followedBy": is_followed,
        "followedAt": _date(since) if follows else None,
        "followedByAt": _date(reverse_since) if is_followed else None,
        "friendsSince": _date(max(since, reverse_since)) if follows and is_followed else None,
    }


def _edge_with_state(other: int, value: bytes | None, viewer: int) -> Row:
    relation = SELF if other == viewer else ONLY_STATES[_state(value)]
    return {"node": {"id": str(other), "viewerRelation": relation}}


def _edge(since: int, other: int, seed: int) -> Row:
    body = _pack_position(VERSION, since, other)
    cursor = urlsafe_b64encode(body + crc32(body, seed).to_bytes(4, "big")).decode()
    return {"cursor": cursor, "followedAt": _date(since), "node": {"id": str(other)}}


def _counts(id_: str, value: bytes) -> Row:
    following, followers, friends = _unpack_totals(value)
    return {
        "id": id_,
        "followingCount": following,
        "followerCount": followers,
        "friendCount": friends,
    }
