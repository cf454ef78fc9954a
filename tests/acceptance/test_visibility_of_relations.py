"""The visibility of relations between two users, for every viewer, over HTTP.

The basic cases, with lists and follow buttons, are in `test_four_viewers`.
"""

from base64 import b64decode
from dataclasses import dataclass
from struct import unpack
from typing import Any

import pytest

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from graph.privacy import Audience
from graph.relation_mask import RelationBits
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.edges import Edges, edges
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all
from tests.support.relation_fields import RELATION, true_fields_of

A, B, C = 1, 2, 3
"""The two users of the relation, and another user."""

RELATIONS = f"""
query ($from: ID!, $to: ID!) {{
  user(id: $from) {{
    relationWith(ids: [$to]) {{ ...relation }}
    relationMask(ids: [$to, $to, $from])
  }}
}}
{RELATION}
"""

PAIRS = """
query ($pairs: [UserPair!]!) { relationsBetween(pairs: $pairs) {
  from { id } to { id } state requested blocking muted closeFollow whispering
} }
"""


@dataclass(frozen=True)
class Caller:
    """The viewer of a query, and whether a service sends it."""

    viewer: int | None = None
    service: bool = False

    def through(self, gateway: Gateway) -> Gateway:
        """The gateway with this caller's kind of token."""
        return gateway.as_service if self.service else gateway


VIEWERS = {
    "A": Caller(A),
    "B": Caller(B),
    "C": Caller(C),
    "anonymous": Caller(),
    "service": Caller(service=True),
    "service for C": Caller(C, service=True),
}
OTHERS = ("C", "anonymous", "service for C")


async def result(gateway: Gateway, caller: Caller, source: int, target: int) -> set[str]:
    """The fields that are true in a relation of two users. All fields and the mask must agree."""
    client = caller.through(gateway)
    data = await client.data(RELATIONS, caller.viewer, **{"from": str(source), "to": str(target)})
    (relation,), mask = data["user"]["relationWith"], data["user"]["relationMask"]
    assert (relation["from"]["id"], relation["to"]["id"]) == (str(source), str(target))
    first, second, itself = unpack("<3H", b64decode(mask))
    assert first == second
    assert itself == RelationBits.SELF
    return true_fields_of(relation, first)


REVERSED = {
    "following": "followedBy",
    "followedBy": "following",
    "requested": "requestedBy",
    "requestedBy": "requested",
}


def reversed_relation(names: set[str]) -> set[str]:
    """The relation in the other direction."""
    return {REVERSED[name] for name in names if name in REVERSED}


def words(*names: str) -> set[str]:
    return {name for several in names for name in several.split()}


@dataclass(frozen=True)
class Case:
    """Edges of A, B and C, and the fields that are true for each viewer: in the relation of A with
    B, and in that of B with A."""

    edges: Edges
    result: dict[str, tuple[str, str]]
    privacy: PrivacyChange | None = None
    """The privacy settings of both A and B."""


def everybody(
    from_a: str, from_b: str, **exceptions: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """The same result for all viewers, except for these."""
    return dict.fromkeys(VIEWERS, (from_a, from_b)) | exceptions


NOTHING = ("", "")
OWN = Flags.CLOSE_FOLLOW | Flags.MUTED

CASES = {
    "A and B are friends": Case(
        {(A, B): Kind.FOLLOW, (B, A): Kind.FOLLOW},
        everybody("following followedBy", "following followedBy"),
    ),
    "A's flags on B are visible to A and services": Case(
        {(A, B): (Kind.FOLLOW, OWN)},
        everybody(
            "following",
            "followedBy",
            A=("following closeFollow muted", "followedBy"),
            service=("following closeFollow muted", "followedBy"),
        ),
    ),
    "A has muted B without following": Case(
        {(A, B): (Kind.NONE, Flags.MUTED)},
        everybody("", "", A=("muted", ""), service=("muted", "")),
    ),
    "A whispers to B, who follows A": Case(
        {(A, B): Kind.WHISPER, (B, A): Kind.FOLLOW},
        everybody(
            "followedBy",
            "following",
            A=("following whispering followedBy", "following followedBy"),
            B=("following whispering followedBy", "following followedBy"),
            service=("following whispering followedBy", "following followedBy"),
        ),
    ),
    "A and B block each other": Case(
        {(A, B): Kind.BLOCK, (B, A): Kind.BLOCK},
        everybody("", "", A=("blocking", ""), B=("", "blocking"), service=("blocking", "blocking")),
    ),
    "both are protected": Case(
        {(A, B): Kind.FOLLOW},
        everybody("following", "followedBy", **dict.fromkeys(OTHERS, NOTHING)),
        privacy=PrivacyChange(protected=True),
    ),
    "both hide both lists": Case(
        {(A, B): Kind.FOLLOW, (B, A): Kind.FOLLOW},
        everybody(
            "following followedBy",
            "following followedBy",
            **dict.fromkeys(OTHERS, NOTHING),
        ),
        privacy=PrivacyChange(following=Audience.ONLY_ME, followers=Audience.ONLY_ME),
    ),
    "both hide whom they follow, and show their followers": Case(
        {(A, B): Kind.FOLLOW},
        everybody("following", "followedBy"),
        privacy=PrivacyChange(following=Audience.ONLY_ME),
    ),
    "C follows A, whose list of followed users is open to followers": Case(
        {(A, B): Kind.FOLLOW, (C, A): Kind.FOLLOW},
        everybody("following", "followedBy", anonymous=NOTHING),
        privacy=PrivacyChange(following=Audience.FOLLOWERS, followers=Audience.FRIENDS),
    ),
    "C whispers to A, who is protected": Case(
        {(A, B): Kind.FOLLOW, (C, A): Kind.WHISPER},
        everybody("following", "followedBy", anonymous=NOTHING),
        privacy=PrivacyChange(protected=True),
    ),
    "C is a friend of B, whose followers are visible to friends": Case(
        {(A, B): Kind.FOLLOW, (C, B): Kind.FOLLOW, (B, C): Kind.FOLLOW},
        everybody("following", "followedBy", anonymous=NOTHING),
        privacy=PrivacyChange(following=Audience.ONLY_ME, followers=Audience.FRIENDS),
    ),
    "C whispers to B, who follows C but is not a friend": Case(
        {(A, B): Kind.FOLLOW, (C, B): Kind.WHISPER, (B, C): Kind.FOLLOW},
        everybody("following", "followedBy", **dict.fromkeys(OTHERS, NOTHING)),
        privacy=PrivacyChange(following=Audience.ONLY_ME, followers=Audience.FRIENDS),
    ),
    "C blocks A": Case(
        {(A, B): Kind.FOLLOW, (C, A): Kind.BLOCK},
        everybody("following", "followedBy", C=NOTHING, **{"service for C": NOTHING}),
    ),
    "B blocks C": Case(
        {(A, B): Kind.FOLLOW, (B, C): Kind.BLOCK},
        everybody("following", "followedBy", C=NOTHING, **{"service for C": NOTHING}),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_every_viewer_sees_the_relations_that_they_may_see(
    name: str, stores: Stores, storage_settings: StorageSettings
) -> None:
    case = CASES[name]
    await edges(stores, case.edges)
    await drain_all(stores)
    for user in (A, B) if case.privacy else ():
        await stores.writes.accounts.set_privacy(UserId(user), case.privacy or PrivacyChange())
    async with running_gateway(storage_settings) as gateway:
        for viewer, (from_a, from_b) in case.result.items():
            relation = await result(gateway, VIEWERS[viewer], A, B)
            assert relation == words(from_a), viewer
            reverse = await result(gateway, VIEWERS[viewer], B, A)
            assert reverse == words(from_b), viewer
            assert reversed_relation(relation) == {word for word in reverse if word in REVERSED}, (
                viewer
            )


async def test_services_read_the_relations_of_pairs_in_their_order(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(A, B): (Kind.BLOCK, Flags.MUTED), (C, A): Kind.FOLLOW})
    await drain_all(stores)
    asked = [(A, B), (C, A), (B, A), (A, A), (A, B)]
    pairs = [{"from": str(source), "to": str(target)} for source, target in asked]
    found: list[Any] = (await gateway.as_service.data(PAIRS, pairs=pairs))["relationsBetween"]
    assert [(int(r["from"]["id"]), int(r["to"]["id"])) for r in found] == asked
    states = ["NONE", "FOLLOWING", "NONE", "SELF", "NONE"]
    assert [r["state"] for r in found] == states
    assert [r["blocking"] for r in found] == [True, False, False, False, True]
    assert [r["muted"] for r in found] == [True, False, False, False, True]


async def test_only_services_read_the_relations_of_pairs(gateway: Gateway) -> None:
    for viewer in (None, A):
        error = await gateway.error(PAIRS, viewer, pairs=[])
        assert error["extensions"] == {"code": "FORBIDDEN"}
    assert await gateway.as_service.data(PAIRS, pairs=[]) == {"relationsBetween": []}


async def test_more_than_500_pairs_are_rejected(gateway: Gateway) -> None:
    pairs = [{"from": "1", "to": "2"}] * 501
    error = await gateway.as_service.error(PAIRS, pairs=pairs)
    assert error["extensions"] == {"code": "BAD_USER_INPUT", "argument": "pairs"}


async def test_services_see_the_flags_of_several_users_on_one_user(
    gateway: Gateway, stores: Stores
) -> None:
    await edges(stores, {(user, 9): (Kind.FOLLOW, Flags.MUTED) for user in (A, B, C)})
    await drain_all(stores)
    query = """{ users(ids: ["1", "2", "3"]) { relationWith(ids: ["9"]) { muted } } }"""
    users = (await gateway.as_service.data(query))["users"]
    assert [user["relationWith"] for user in users] == [[{"muted": True}]] * 3
