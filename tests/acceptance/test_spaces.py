"""Several spaces in one gateway, with the same user ids: each shows only its own data."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET
from gateway.graphql.client_connections import SPACE_CHANGED
from gateway.graphql.settings import EVERYTHING, CostSettings
from gateway.server import spaces
from gateway.settings.config import Config, read_config
from gateway.settings.space_config import environment_of
from gateway.spaces import replacements
from gateway.spaces.settings import ANY, NamedBy, SpaceSource, SpacesSettings
from graph.pace import Pace
from resolvers.policy import Policy
from storage.postgres.spaces import SpaceDirectory, SpaceState
from storage.settings import LocalSettings, StorageSettings
from storage.stores import Stores, open_stores
from tests.support.graphs import drain_all, follows
from tests.support.spaces import SERVED, Client, created_spaces, in_space, serving
from tests.support.waiting import until

FOLLOWING = """
query ($after: String) { user(id: 1) { following(first: 2, after: $after) {
  totalCount pageInfo { endCursor } edges { node { id } }
} } }
"""
FOLLOW = """
mutation ($to: ID!, $key: String) { followUser(input: { userId: $to, idempotencyKey: $key }) {
  outcome undoToken consistencyToken userErrors { code }
} }
"""
UNFOLLOW = """
mutation ($to: ID!, $key: String) { unfollowUser(input: { userId: $to, idempotencyKey: $key }) {
  outcome undoToken
} }
"""
UNDO = """
mutation ($token: String!) { undoRelationshipChange(input: { undoToken: $token }) {
  outcome userErrors { code ... on CannotUndo { reason } }
} }
"""
EVENTS = "subscription { relationshipEvents { type cursor from { id } to { id } } }"
ALL_SOURCES = NamedBy(frozenset(SpaceSource))


@pytest.fixture
async def directory(storage_settings: StorageSettings) -> AsyncIterator[SpaceDirectory]:
    """The space directory, with the spaces shop and biz."""
    async with created_spaces(storage_settings, {"shop": {}, "biz": {}}) as created:
        yield created


@pytest.fixture
async def client(storage_settings: StorageSettings, directory: SpaceDirectory) -> Any:
    del directory
    async with serving(storage_settings) as client:
        yield client


@pytest.fixture
async def shop(storage_settings: StorageSettings, directory: SpaceDirectory) -> Any:
    """The stores of the space shop."""
    del directory
    async with open_stores(in_space(storage_settings, "shop")) as opened:
        yield opened


def ids(data: Any) -> list[int]:
    return [int(edge["node"]["id"]) for edge in data["user"]["following"]["edges"]]


async def test_each_space_has_its_own_follows_of_the_same_user_ids(client: Client) -> None:
    await client.data("shop", FOLLOW, to="2")
    await client.data("biz", FOLLOW, to="3")
    for _ in range(2):  # from the tables, and from the caches
        assert ids(await client.data("shop", FOLLOWING)) == [2]
        assert ids(await client.data("biz", FOLLOWING)) == [3]
        assert ids(await client.data("public", FOLLOWING)) == []


async def test_each_space_has_its_own_local_cache(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    hot = replace(storage_settings, local=LocalSettings(requests_to_copy=1))
    async with serving(hot) as client:
        await client.data("shop", FOLLOW, to="2")
        for _ in range(5):
            assert ids(await client.data("shop", FOLLOWING, viewer=9)) == [2]
            assert ids(await client.data("biz", FOLLOWING, viewer=9)) == []


async def test_each_space_has_its_own_idempotency_keys(client: Client) -> None:
    for space in ("shop", "biz", "public", "shop"):
        first = (await client.data(space, FOLLOW, to="2", key="k"))["followUser"]
        assert first["outcome"] == "FOLLOWED", space
    assert ids(await client.data("biz", FOLLOWING)) == [2]


async def test_a_cursor_of_one_space_is_rejected_in_another(client: Client) -> None:
    for space in ("shop", "public"):
        for target in ("2", "3", "4"):
            await client.data(space, FOLLOW, to=target)
    page = (await client.data("shop", FOLLOWING))["user"]["following"]
    cursor = page["pageInfo"]["endCursor"]
    assert ids(await client.data("shop", FOLLOWING, after=cursor)) == [2]
    assert await client.code("public", FOLLOWING, after=cursor) == (200, "BAD_USER_INPUT")
    assert await client.code("biz", FOLLOWING, after=cursor) == (200, "BAD_USER_INPUT")
    page = (await client.data("public", FOLLOWING))["user"]["following"]
    cursor = page["pageInfo"]["endCursor"]
    assert await client.code("shop", FOLLOWING, after=cursor) == (200, "BAD_USER_INPUT")


async def test_an_undo_token_of_one_space_is_rejected_in_another(client: Client) -> None:
    tokens = {}
    for space in ("shop", "public"):  # with equal keys, so that the receipts have equal ids
        await client.data(space, FOLLOW, to="2", key="f")
        tokens[space] = (await client.data(space, UNFOLLOW, to="2", key="u"))["unfollowUser"][
            "undoToken"
        ]
    assert tokens["shop"] != tokens["public"]
    for space, other in (("public", "shop"), ("shop", "public"), ("biz", "shop")):
        undone = await client.data(space, UNDO, token=tokens[other])
        (error,) = undone["undoRelationshipChange"]["userErrors"]
        assert error == {"code": "CANNOT_UNDO", "reason": "UNKNOWN"}
    undone = await client.data("shop", UNDO, token=tokens["shop"])
    assert undone["undoRelationshipChange"]["outcome"] == "RESTORED"


async def test_a_consistency_token_of_one_space_is_rejected_in_another(client: Client) -> None:
    done = (await client.data("shop", FOLLOW, to="2"))["followUser"]
    headers = {"x-consistency-token": done["consistencyToken"]}
    assert await client.code("biz", FOLLOWING, headers) == (200, "BAD_USER_INPUT")
    assert await client.code("public", FOLLOWING, headers) == (200, "BAD_USER_INPUT")
    status, answer = await client.answer("shop", FOLLOWING, 1, headers)
    assert (status, ids(answer["data"])) == (200, [2])


async def test_all_transports_reach_the_space_of_their_path(client: Client, shop: Stores) -> None:
    await client.data("shop", FOLLOW, to="2")
    live = client.live.at("shop")
    query = {"query": FOLLOWING}
    response = await client.http.get(live.http, params=query, headers={"x-viewer": "1"})
    assert ids(response.json()["data"]) == [2]
    response = await client.http.get(client.live.http, params=query, headers={"x-viewer": "1"})
    assert ids(response.json()["data"]) == []
    async with live.socket(viewer=7) as socket, client.live.socket(viewer=7) as other:
        await socket.subscribe(FOLLOWING)
        assert ids(await socket.data()) == [2]
        await other.subscribe(FOLLOWING)
        assert ids(await other.data()) == []
    async with live.events(EVENTS, viewer=7) as events:

        async def is_open() -> bool:
            exists = ("EXISTS", "kith:shop:feed:7")
            return bool((await shop.servers.redis.pipe([exists]))[0])

        await until(is_open)
        await follows(shop, (1, 7))
        await drain_all(shop)
        name, event = await anext(events)
    assert (name, event["data"]["relationshipEvents"]["from"]) == ("next", {"id": "1"})


async def test_events_of_one_space_do_not_reach_another(
    client: Client, shop: Stores, stores: Stores
) -> None:
    live = client.live
    async with live.at("shop").socket(viewer=7) as socket, live.socket(viewer=7) as other:
        for each in (socket, other):
            await each.subscribe(EVENTS)

        async def are_open() -> bool:
            keys = ("EXISTS", "kith:shop:feed:7", "kith:public:feed:7")
            return bool((await stores.servers.redis.pipe([keys]))[0] == 2)

        await until(are_open)
        await follows(shop, (1, 7))
        await drain_all(shop)
        await follows(stores, (2, 7))
        await drain_all(stores)
        received = (await socket.data())["relationshipEvents"]
        received_by_other = (await other.data())["relationshipEvents"]
    assert (received["from"]["id"], received_by_other["from"]["id"]) == ("1", "2")
    resync = EVENTS.replace("Events {", f'Events(after: "{received["cursor"]}") {{')
    async with live.socket(viewer=7) as other:
        await other.subscribe(resync)
        assert (await other.data())["relationshipEvents"]["type"] == "RESYNC"


@pytest.mark.parametrize(
    "name", ["nowhere", "Shop", "pg_catalog", "information_schema", "a%2Fb", ""]
)
async def test_an_unknown_space_gets_404_with_a_code(client: Client, name: str) -> None:
    assert await client.code(name, FOLLOWING) == (404, "SPACE_UNKNOWN")


async def test_a_space_outside_the_configured_list_is_unknown(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with serving(storage_settings, SpacesSettings(frozenset({"biz"}))) as client:
        await client.data("biz", FOLLOWING)
        assert await client.code("shop", FOLLOWING) == (404, "SPACE_UNKNOWN")


async def test_a_web_socket_to_an_unknown_space_is_closed_with_a_code(client: Client) -> None:
    async with client.live.at("nowhere").raw_socket(viewer=1) as raw:
        await raw.send('{"type":"connection_init"}')
        await raw.wait_closed()
        assert raw.close_code == 4404


async def test_a_header_names_the_space_and_must_agree_with_the_path(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    named_by = NamedBy(frozenset({SpaceSource.HEADER, SpaceSource.PATH}))
    async with serving(storage_settings, replace(SERVED, named_by=named_by)) as client:
        await client.data("shop", FOLLOW, to="2")
        status, answer = await client.answer("public", FOLLOWING, 1, {"kith-space": "shop"})
        assert (status, ids(answer["data"])) == (200, [2])
        conflict = await client.code("shop", FOLLOWING, {"kith-space": "biz"})
        assert conflict == (403, "SPACE_CONFLICT")
        unknown = await client.code("public", FOLLOWING, {"kith-space": "nowhere"})
        assert unknown == (404, "SPACE_UNKNOWN")
        payload = {"Kith-Space": "shop", "X-Viewer": "1"}
        async with client.live.socket(payload=payload) as socket:
            await socket.subscribe(FOLLOWING)
            assert ids(await socket.data()) == [2]
        # A proxy may have set the header of the handshake.
        handshake = [("kith-space", "biz")]
        async with client.live.raw_socket(additional_headers=handshake) as raw:
            await raw.send(json.dumps({"type": "connection_init", "payload": payload}))
            await raw.wait_closed()
            assert raw.close_code == 4403
        payload["Kith-Space"] = "biz"
        async with client.live.socket(payload=payload, additional_headers=handshake) as socket:
            await socket.subscribe(FOLLOWING)
            assert ids(await socket.data()) == []


async def test_a_space_header_is_rejected_if_the_gateway_does_not_read_it(client: Client) -> None:
    assert await client.code("public", FOLLOWING, {"kith-space": "shop"}) == (400, "BAD_REQUEST")


def token(secret: str = DEVELOPMENT_SECRET, **claims: Any) -> dict[str, str]:
    """The header with a token of user 1 with these claims."""
    signed = jwt.encode({"sub": "1", "exp": 2**40, **claims}, secret, algorithm="HS256")
    return {"authorization": f"Bearer {signed}"}


async def test_a_claim_names_the_space_and_binds_the_token_to_it(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with serving(storage_settings, replace(SERVED, named_by=ALL_SOURCES)) as client:
        await client.data("shop", FOLLOW, to="2")
        of_shop = token(space="shop")
        for space in ("public", "shop"):  # at /graphql, the claim alone names the space
            status, answer = await client.answer(space, FOLLOWING, None, of_shop)
            assert (status, ids(answer["data"])) == (200, [2])
        assert await client.code("biz", FOLLOWING, of_shop) == (403, "SPACE_CONFLICT")
        assert await client.code("shop", FOLLOWING, token()) == (403, "SPACE_CONFLICT")
        status, answer = await client.answer("public", FOLLOWING, None, token())
        assert (status, ids(answer["data"])) == (200, [])
        assert await client.code("public", FOLLOWING, token(space="nowhere")) == (
            404,
            "SPACE_UNKNOWN",
        )
        for wrong in (7, ["shop"], True, {"name": "shop"}):
            found = await client.code("public", FOLLOWING, token(space=wrong))
            assert found == (401, "UNAUTHENTICATED")
        forged = token("another-secret-of-32-bytes-or-more", space="shop")
        assert await client.code("public", FOLLOWING, forged) == (401, "UNAUTHENTICATED")
        payload = {"Authorization": of_shop["authorization"]}
        async with client.live.socket(payload=payload) as socket:
            await socket.subscribe(FOLLOWING)
            assert ids(await socket.data()) == [2]
        async with client.live.at("biz").raw_socket() as raw:
            await raw.send(json.dumps({"type": "connection_init", "payload": payload}))
            await raw.wait_closed()
            assert raw.close_code == 4403


def space_configs(settings: StorageSettings, served: SpacesSettings) -> Any:
    """A function that returns the configuration of a space with its stored settings."""
    environ = {
        "DATABASE_URL": settings.database_url,
        "REDIS_URL": settings.redis_url,
        "KITH_JWT_SECRET": DEVELOPMENT_SECRET,
    }

    def config(name: str, changes: Mapping[str, str]) -> Config:
        found = read_config(
            Path(),
            name,
            development=True,
            environ=environment_of(environ, changes),
        )
        return replace(found, spaces=served, exposure=EVERYTHING)

    return config


async def test_each_space_can_have_its_own_token_secret_and_limits(
    storage_settings: StorageSettings, directory: SpaceDirectory, tmp_path: Any
) -> None:
    secret = "the-secret-of-the-space-shop-alone"
    (tmp_path / "secret").write_text(secret)
    served = replace(SERVED, named_by=ALL_SOURCES)
    await directory.set_settings(
        "shop",
        {"KITH_FOLLOWING_LIMIT": "1", "KITH_JWT_SECRET_FILE": str(tmp_path / "secret")},
    )
    config = space_configs(storage_settings, served)
    async with serving(storage_settings, served, make_space_config=config) as client:
        own = token(secret, space="shop")
        for to, outcome in (("2", "FOLLOWED"), ("3", "REJECTED")):
            _, answer = await client.answer("shop", FOLLOW, None, own, to=to)
            assert answer["data"]["followUser"]["outcome"] == outcome
        shared = token(space="shop")
        assert await client.code("shop", FOLLOWING, shared) == (401, "UNAUTHENTICATED")
        of_biz = token(secret, space="biz")
        assert await client.code("biz", FOLLOWING, of_biz) == (401, "UNAUTHENTICATED")
        for to in ("2", "3"):
            _, answer = await client.answer("biz", FOLLOW, None, token(space="biz"), to=to)
            assert answer["data"]["followUser"]["outcome"] == "FOLLOWED"


async def test_changed_settings_take_effect_without_a_restart(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    config = space_configs(storage_settings, SERVED)
    async with serving(storage_settings, make_space_config=config) as client:
        assert (await client.data("shop", FOLLOW, to="2"))["followUser"]["outcome"] == "FOLLOWED"
        await directory.set_settings("shop", {"KITH_FOLLOWING_LIMIT": "1"})

        async def is_limited() -> bool:
            done = (await client.data("shop", FOLLOW, to="3"))["followUser"]
            await client.data("shop", UNFOLLOW, to="3")
            return bool(done["outcome"] == "REJECTED")

        await until(is_limited)


async def test_invalid_settings_make_only_their_own_space_unavailable(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    await directory.set_settings("shop", {"KITH_FOLLOWING_LIMIT": "many"})
    config = space_configs(storage_settings, SERVED)
    async with serving(storage_settings, make_space_config=config) as client:
        assert await client.code("shop", FOLLOWING) == (503, "UNAVAILABLE")
        assert ids(await client.data("biz", FOLLOWING)) == []


async def test_a_space_that_cannot_be_opened_is_not_opened_again_by_each_request(
    storage_settings: StorageSettings,
    directory: SpaceDirectory,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spaces, "OPEN_AGAIN_S", 3_600)
    await directory.set_settings("shop", {"KITH_FOLLOWING_LIMIT": "many"})
    config = space_configs(storage_settings, SERVED)
    async with serving(storage_settings, make_space_config=config) as client:
        for _ in range(5):
            assert await client.code("shop", FOLLOWING) == (503, "UNAVAILABLE")
        assert caplog.text.count("the space shop has failed") == 1
        await directory.set_settings("shop", {"KITH_FOLLOWING_LIMIT": "5"})

        async def is_open() -> bool:
            return (await client.answer("shop", FOLLOWING))[0] == 200

        await until(is_open)


async def test_dropping_a_space_disconnects_its_clients_and_no_others(
    client: Client, directory: SpaceDirectory
) -> None:
    live = client.live
    async with live.at("shop").socket(viewer=7) as socket, live.at("biz").socket(viewer=7) as other:
        await socket.subscribe(EVENTS)
        await directory.set_state("shop", SpaceState.DROPPING)
        assert await socket.closed() == (SPACE_CHANGED.code, SPACE_CHANGED.reason)
        assert await client.code("shop", FOLLOWING) == (404, "SPACE_UNKNOWN")
        await other.subscribe(FOLLOWING)
        assert ids(await other.data()) == []


async def test_a_new_space_is_served_without_a_restart(
    storage_settings: StorageSettings,
) -> None:
    async with serving(storage_settings, SpacesSettings(frozenset({ANY}))) as client:
        assert await client.code("late", FOLLOWING) == (404, "SPACE_UNKNOWN")
        async with created_spaces(storage_settings, {"late": {}}):

            async def is_served() -> bool:
                return (await client.answer("late", FOLLOWING))[0] == 200

            await until(is_served)


async def test_an_idle_space_is_closed_and_opened_again(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with serving(storage_settings, replace(SERVED, idle_s=0)) as client:
        await client.data("shop", FOLLOW, to="2")

        async def is_closed() -> bool:
            text = (await client.http.get(client.live.http.replace("graphql", "metrics"))).text
            return 'kith_postgres_pool_connections_max{space="shop"}' not in text

        await until(is_closed)
        assert ids(await client.data("shop", FOLLOWING)) == [2]


async def test_at_the_maximum_of_open_spaces_an_unused_one_is_closed_for_another(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    async with serving(storage_settings, replace(SERVED, open_max=1)) as client:
        await client.data("shop", FOLLOW, to="2")
        assert ids(await client.data("biz", FOLLOWING)) == []
        assert ids(await client.data("shop", FOLLOWING)) == [2]
        async with client.live.at("shop").socket(viewer=7):  # keeps it open
            assert await client.code("biz", FOLLOWING) == (503, "OVERLOADED")


async def test_alternating_requests_to_two_spaces_reopen_them_a_limited_number_of_times(
    storage_settings: StorageSettings, directory: SpaceDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    del directory
    monkeypatch.setattr(replacements, "OF_ADDRESS", Pace(interval_us=3_600_000_000, burst=3))
    opened: list[str] = []
    open_space = spaces._Opened

    def counting_open(record: Any, *given: Any) -> Any:
        opened.append(record.name)
        return open_space(record, *given)

    monkeypatch.setattr(spaces, "_Opened", counting_open)
    async with serving(storage_settings, replace(SERVED, open_max=1)) as client:
        for name in ("shop", "biz", "shop", "biz"):
            assert (await client.answer(name, FOLLOWING))[0] == 200
        for _ in range(5):
            assert await client.code("shop", FOLLOWING) == (503, "OVERLOADED")
            assert ids(await client.data("biz", FOLLOWING)) == []
        assert await client.code("unknown", FOLLOWING) == (404, "SPACE_UNKNOWN")
    assert opened == ["shop", "biz", "shop", "biz"]


async def test_metrics_have_a_label_for_the_space(client: Client) -> None:
    await client.data("shop", FOLLOW.replace("mutation", "mutation Named"), to="2")
    text = (await client.http.get(client.live.http.replace("graphql", "metrics"))).text
    assert 'kith_requests_total{code="OK",operation="Named",space="shop"} 1.0' in text
    changes = [line for line in text.splitlines() if line.startswith("kith_outbox_changes{")]
    assert sum(float(line.split()[-1]) for line in changes if 'space="shop"' in line) == 1
    assert sum(float(line.split()[-1]) for line in changes if 'space="public"' in line) == 0
    assert text.count("# TYPE kith_outbox_changes gauge") == 1


async def test_each_rejection_because_of_a_space_is_counted(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    await directory.set_settings("biz", {"KITH_FOLLOWING_LIMIT": "many"})
    served = replace(SERVED, named_by=NamedBy(frozenset({SpaceSource.HEADER, SpaceSource.PATH})))
    config = space_configs(storage_settings, served)
    async with serving(storage_settings, served, make_space_config=config) as client:

        async def rejections(code: str) -> float:
            text = (await client.http.get(client.live.http.replace("graphql", "metrics"))).text
            head = f'kith_space_rejections_total{{code="{code}"}} '
            lines = (line for line in text.splitlines() if line.startswith(head))
            return sum(float(line.removeprefix(head)) for line in lines)

        for space, headers, code in (
            ("shop", {"kith-space": "biz"}, "SPACE_CONFLICT"),
            ("nowhere", {}, "SPACE_UNKNOWN"),
            ("biz", {}, "UNAVAILABLE"),  # it cannot be opened
        ):
            before = await rejections(code)
            assert (await client.code(space, FOLLOWING, headers))[1] == code
            assert await rejections(code) == before + 1


async def test_each_space_has_its_own_budgets(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    tight = CostSettings(budget=20_000)
    async with serving(storage_settings, costs=tight, policy=Policy()) as client:

        async def is_over() -> bool:
            return (await client.answer("shop", FOLLOWING))[0] == 429

        await until(is_over)
        assert (await client.answer("biz", FOLLOWING))[0] == 200
        assert (await client.answer("public", FOLLOWING))[0] == 200


async def test_concurrent_requests_open_a_space_once(
    storage_settings: StorageSettings, directory: SpaceDirectory
) -> None:
    del directory
    # A busy machine connects to PostgreSQL slowly.
    connections = replace(storage_settings.connections, acquire_timeout_s=30)
    async with serving(replace(storage_settings, connections=connections)) as client:
        answers = await asyncio.gather(*(client.data("shop", FOLLOWING) for _ in range(40)))
        assert all(ids(answer) == [] for answer in answers)
        text = (await client.http.get(client.live.http.replace("graphql", "metrics"))).text
        assert "kith_spaces_open 1.0" in text


async def test_services_export_the_lists_and_changes_of_one_space(client: Client) -> None:
    await client.data("shop", FOLLOW, to="2")
    root = client.live.http.removesuffix("/graphql")
    of_service = token(scope="service", sub=None)
    for space, lines in (("/spaces/shop", 1), ("", 0), ("/spaces/biz", 0)):
        found = await client.http.get(f"{root}{space}/export/following/1", headers=of_service)
        assert (found.status_code, len(found.text.splitlines())) == (200, lines)
    changes = f"{root}/spaces/shop/changes?follow=false"
    found = await client.http.get(changes, headers=of_service)
    cursor = found.json()["cursor"]
    for space, status in (("/spaces/shop", 200), ("/spaces/biz", 400), ("", 400)):
        address = f"{root}{space}/changes?follow=false&after={cursor}"
        found = await client.http.get(address, headers=of_service)
        assert found.status_code == status, found.text
    found = await client.http.get(f"{root}/spaces/nowhere/changes", headers=of_service)
    assert (found.status_code, found.json()["errors"][0]["extensions"]["code"]) == (
        404,
        "SPACE_UNKNOWN",
    )
