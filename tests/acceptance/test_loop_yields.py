"""The most expensive allowed operations do bounded work in each iteration of the event loop.

The tests count units of work, not seconds. docs/engine.md has the times.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from hashlib import sha256
from types import SimpleNamespace
from typing import Any, cast

import httpx
import orjson
import pytest

from engine import Operation, Turns, parsing
from engine.compiler import Compiler
from engine.cost_compiler import OperationCost
from engine.executor import Executor
from engine.lookup_tables import SharedObjects
from engine.plan import FieldColumns
from engine.run import Rows, Run
from engine.variables import Variables
from gateway.authentication import identify
from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
from gateway.graphql import endpoint, event_stream, request, sockets
from gateway.graphql.execution import BURST_WORK, LONG_WORK, SLICE_WORK
from gateway.graphql.request import LARGE_BODY_BYTES
from gateway.http import bearer, json_parts
from gateway.http.long_requests import LONG_BODY_BYTES, SLICE_BYTES
from graph import relation as rules
from graph.edge import UserId
from graph.relation import Relation, RelationColumn
from resolvers import visibility
from resolvers.pair_turns import PAIRS_PER_CHECK, PAIRS_PER_TURN
from storage.ports.reader import Check
from storage.postgres import relations
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres
from storage.postgres.private_notes import PostgresPrivateNotes
from storage.redis import multiplexed
from storage.redis.wire import Command
from storage.slices import ROWS_PER_SLICE
from storage.stores import Stores
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.live_gateway import LiveGateway
from tests.support.loop_ticks import LoopTicks, loop_ticks

ROWS_MAX = 6_000
"""The most rows that the engine may build in one iteration."""

OTHERS = [str(user) for user in range(1, 1_001)]

COSTLIEST: dict[str, tuple[str, int, int]] = {
    "relations": (
        "relationWith(ids: $others) { state following followedAt to { id } }",
        15,
        30_000,
    ),
    "states": ("relationWith(ids: $others) { state }", 28, 28_000),
    "masks": ("relationMask(ids: $others)", 40, 40),
}
"""Fields of `users`, the number of users, and how many rows the engine builds at least."""


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Each of 80 users follows three others."""
    pairs = [(user, (user + step) % 80 + 1) for user in range(1, 81) for step in (0, 1, 5)]
    await follows(stores, *(pair for pair in pairs if pair[0] != pair[1]))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", COSTLIEST)
async def test_an_iteration_of_the_loop_does_bounded_work(
    name: str, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection, users, rows_min = COSTLIEST[name]
    query = f"query($ids: [ID!]!, $others: [ID!]!) {{ users(ids: $ids) {{ {selection} }} }}"
    ids = [str(user) for user in range(1, users + 1)]
    async with loop_ticks() as ticks:
        _count_work(ticks, monkeypatch)
        data = await gateway.data(query, viewer=1, ids=ids, others=OTHERS)
    assert len(data["users"]) == users
    assert ticks.total["rows"] + ticks.total["shared"] >= rows_min
    assert ticks.most["rows"] <= ROWS_MAX
    assert ticks.most["shared"] <= ROWS_MAX
    assert ticks.total["pairs"] == 1_000 * users
    assert ticks.most["pairs"] <= 1.2 * PAIRS_PER_TURN
    assert ticks.most["arguments"] <= 1.2 * PAIRS_PER_TURN
    assert ticks.most["bytes"] <= 2 * json_parts.PART_BYTES


@pytest.mark.usefixtures("graph")
async def test_the_largest_response_of_a_service_is_built_and_written_in_slices(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = """query($ids: [ID!]!, $others: [ID!]!) {
        users(ids: $ids) { relationWith(ids: $others) { state following followedAt to { id } } }
    }"""
    ids = [str(user) for user in range(1, 99)]
    async with loop_ticks() as ticks:
        _count_work(ticks, monkeypatch)
        data = await gateway.as_service.data(query, viewer=None, ids=ids, others=OTHERS[:500])
    assert len(data["users"]) == 98
    assert ticks.total["rows"] + ticks.total["shared"] > 98_000
    assert ticks.most["rows"] <= ROWS_MAX
    assert ticks.most["shared"] <= ROWS_MAX
    assert ticks.most["bytes"] <= 2 * json_parts.PART_BYTES


@pytest.mark.usefixtures("graph")
async def test_equal_relations_are_tested_once_for_mutes_and_looked_up_once_for_notes(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A response may contain the same relation many times."""
    tested: list[int] = []
    looked_up: list[int] = []
    mutes, get_many = rules.mutes, PostgresPrivateNotes.get_many

    def counted_mutes(kinds: int) -> bool:
        tested.append(kinds)
        return mutes(kinds)

    async def counted_notes(store: Any, author: Any, others: Sequence[Any]) -> Any:
        looked_up.extend(others)
        return await get_many(store, author, others)

    monkeypatch.setattr(rules, "mutes", counted_mutes)
    monkeypatch.setattr(PostgresPrivateNotes, "get_many", counted_notes)
    query = """query($ids: [ID!]!, $others: [ID!]!) {
        users(ids: $ids) { relationWith(ids: $others) { mutedUntil note } }
    }"""
    await gateway.data(query, viewer=1, ids=["1"] * 10, others=OTHERS[:200])
    assert 0 < len(tested) == len(set(tested))
    assert len(looked_up) == 200


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("transport", ["web socket", "event stream"])
async def test_web_sockets_and_event_streams_write_a_large_response_in_slices(
    transport: str, live: LiveGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = """query($ids: [ID!]!, $others: [ID!]!) {
        users(ids: $ids) { relationWith(ids: $others) { state following followedAt to { id } } }
    }"""
    given: dict[str, Any] = {
        "ids": [str(user) for user in range(1, 61)],
        "others": OTHERS[:300],
    }
    async with loop_ticks() as ticks:
        _count_dumps(ticks, monkeypatch)
        if transport == "web socket":
            async with live.socket(viewer=1, max_size=None) as socket:
                await socket.subscribe(query, **given)
                data = await socket.data()
        else:
            async with live.events(query, viewer=1, **given) as events:
                data = (await anext(events))[1]["data"]
    assert sum(len(user["relationWith"]) for user in data["users"]) == 60 * 300
    assert ticks.total["bytes"] > 1_000_000
    assert ticks.most["bytes"] <= 2 * json_parts.PART_BYTES


async def test_federation_references_are_resolved_in_slices(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "query($r: [_Any!]!) { _entities(representations: $r) { ... on User { id } } }"
    references = [{"__typename": "User", "id": str(user)} for user in range(1, 10_001)]
    async with loop_ticks() as ticks:
        _count_work(ticks, monkeypatch)
        data = await gateway.data(query, viewer=1, r=references)
    assert len(data["_entities"]) == ticks.total["rows"] - 1 == 10_000
    assert ticks.most["rows"] <= ROWS_MAX


async def test_large_bodies_that_arrive_together_are_parsed_in_separate_iterations(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "query($r: [_Any!]!) { _entities(representations: $r) { ... on User { id } } }"
    references = [{"__typename": "User", "id": str(user)} for user in range(1, 2_001)]
    parse = request.from_body
    async with loop_ticks() as ticks:

        def counting_parse(body: bytes) -> request.GraphQLRequest:
            ticks.add("bodies", 1)
            return parse(body)

        monkeypatch.setattr(endpoint, "from_body", counting_parse)
        await asyncio.gather(*(gateway.data(query, viewer=1, r=references) for _ in range(6)))
    assert ticks.total["bodies"] == 6
    assert ticks.most["bodies"] == 1


async def test_long_bodies_that_arrive_together_are_read_in_bounded_parts(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [str(10**18 + number) for number in range(200)]
    body = orjson.dumps({"query": "query($ids: [ID!]!) { __typename }", "variables": {"ids": ids}})
    assert LONG_BODY_BYTES < len(body) < LARGE_BODY_BYTES
    async with loop_ticks() as ticks:
        _count_lengths(ticks, monkeypatch, "from_body")
        await asyncio.gather(*(_post(gateway, body) for _ in range(40)))
    assert ticks.total["bytes"] == 40 * len(body)
    assert ticks.most["bytes"] <= 2 * SLICE_BYTES


@pytest.mark.parametrize("transport", ["json", "event stream", "web socket"])
async def test_long_requests_with_one_new_document_are_coerced_in_bounded_parts(
    transport: str, gateway: Gateway, live: LiveGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is prepared once, for all of them."""
    ids = [str(10**18 + number) for number in range(200)]
    query = "query New($ids: [ID!]!) { user(id: 7) { relationWith(ids: $ids) { state } } }"
    body = orjson.dumps({"query": query, "variables": {"ids": ids}})
    coerce = Variables.coerce
    async with AsyncExitStack() as stack:
        sockets_ = [await stack.enter_async_context(live.socket()) for _ in range(8)]
        ticks = await stack.enter_async_context(loop_ticks())

        def counting_coerce(variables: Variables, raw: Any) -> Any:
            ticks.add("bytes", len(body))
            return coerce(variables, raw)

        monkeypatch.setattr(Variables, "coerce", counting_coerce)
        if transport == "web socket":
            for number in range(5):
                for socket in sockets_:
                    await socket.subscribe(query, id=str(number), ids=ids)
            for socket in sockets_:
                for _ in range(10):
                    assert (await socket.receive())["type"] in ("next", "complete")
        else:
            accept = "text/event-stream" if transport == "event stream" else "application/json"
            posts = (_post(gateway, body, accept=accept) for _ in range(40))
            assert {response.status_code for response in await asyncio.gather(*posts)} == {200}
    assert ticks.total["bytes"] >= 40 * len(body)
    assert ticks.most["bytes"] <= 2 * SLICE_BYTES


async def test_long_query_strings_that_arrive_together_are_read_in_bounded_parts(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "/graphql?query=%7B__typename%7D&operationName=&x=" + "%41" * 2_000
    async with loop_ticks() as ticks:
        _count_lengths(ticks, monkeypatch, "from_query_string")
        await asyncio.gather(*(gateway.http.get(url) for _ in range(20)))
    assert ticks.total["bytes"] > 20 * 6_000
    assert ticks.most["bytes"] <= 2 * SLICE_BYTES


@pytest.mark.parametrize("path", ["/graphql", "/export/followers/5"])
async def test_long_tokens_that_arrive_together_are_checked_in_bounded_parts(
    path: str, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "Bearer eyJhbGciOiJIUzI1NiJ9." + "e30" * 3_000 + ".AAAA"
    read = bearer.token_in
    async with loop_ticks() as ticks:

        def counting_read(credentials: bytes) -> str:
            ticks.add("bytes", len(credentials))
            return read(credentials)

        monkeypatch.setattr(identify, "token_in", counting_read)
        if path == "/graphql":
            requests = [_post(gateway, b'{"query": "{ __typename }"}', token) for _ in range(20)]
            answers = await asyncio.gather(*requests)
        else:
            headers = {"authorization": token}
            answers = await asyncio.gather(
                *(gateway.http.get(path, headers=headers) for _ in range(20))
            )
    assert {answer.status_code for answer in answers} == {401}
    assert ticks.total["bytes"] >= 20 * len(token)
    assert ticks.most["bytes"] <= 2 * SLICE_BYTES


@pytest.mark.parametrize("transport", ["json", "large body", "get", "event stream", "export"])
async def test_forged_tokens_that_arrive_together_are_verified_in_bounded_parts(
    transport: str, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are short, and verifying one with a public key takes up to 0.5 ms."""
    head, claims, _ = mint(DEVELOPMENT_SECRET, 1).split(".")
    tokens = [f"Bearer {head}.{claims}.{'A' * 39}{number:04}" for number in range(40)]
    verify = identify.Authentication._verified_claims
    body = b'{"query": "{ __typename }"}' + b" " * 100_000 * (transport == "large body")
    accept = "text/event-stream" if transport == "event stream" else "application/json"
    url = "/graphql?query=%7B__typename%7D" if transport == "get" else "/export/followers/1"

    async def send(token: str) -> int:
        if transport in ("get", "export"):
            response = await gateway.http.get(url, headers={"authorization": token})
        else:
            response = await _post(gateway, body, token, accept=accept)
        return response.status_code

    async with loop_ticks() as ticks:

        def counting_verify(authentication: identify.Authentication, token: str) -> Any:
            ticks.add("verified", 1)
            return verify(authentication, token)

        monkeypatch.setattr(identify.Authentication, "_verified_claims", counting_verify)
        assert set(await asyncio.gather(*map(send, tokens))) == {401}
    assert ticks.total["verified"] >= len(tokens)
    assert ticks.most["verified"] <= 1 / identify.VERIFICATION + 1


async def test_long_operations_that_arrive_together_begin_in_bounded_parts(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their requests are short."""
    query = "{ " + " ".join(f"a{n}: user(id: -1) {{ id }}" for n in range(199)) + " }"
    named = {"version": 1, "sha256Hash": sha256(query.encode()).hexdigest()}
    await gateway.http.post(
        "/graphql", json={"query": query, "extensions": {"persistedQuery": named}}
    )
    body = orjson.dumps({"extensions": {"persistedQuery": named}})
    assert len(body) < LONG_BODY_BYTES
    async with loop_ticks() as ticks:
        _count_begun(ticks, monkeypatch)
        answers = await asyncio.gather(*(_post(gateway, body) for _ in range(40)))
    assert {len(answer.json()["errors"]) for answer in answers} == {199}
    assert ticks.total["work"] > 40 * LONG_WORK
    assert ticks.most["work"] <= 2 * SLICE_WORK


async def test_short_operations_that_arrive_together_begin_in_bounded_parts(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "{ " + " ".join(f"a{n}: user(id: -1) {{ id }}" for n in range(15)) + " }"
    body = orjson.dumps({"query": query})
    assert len(body) < LONG_BODY_BYTES
    await _post(gateway, body)
    async with loop_ticks() as ticks:
        _count_begun(ticks, monkeypatch)
        answers = await asyncio.gather(*(_post(gateway, body) for _ in range(300)))
    assert {len(answer.json()["errors"]) for answer in answers} == {15}
    assert ticks.total["work"] > 6 * BURST_WORK
    assert ticks.most["work"] <= 2 * BURST_WORK + LONG_WORK


async def test_events_that_arrive_together_for_long_operations_begin_in_bounded_parts(
    live: LiveGateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "followers(first: 100) { totalCount edges { node { id followerCount } } }"
    query = f'subscription {{ countsChanged(userId: "7") {{ followingCount {page} }} }}'
    async with live.socket(viewer=1) as socket, loop_ticks() as ticks:
        for number in range(20):
            await socket.subscribe(query, id=str(number))
        for _ in range(20):
            assert (await socket.receive())["type"] == "next"
        _count_begun(ticks, monkeypatch)
        await follows(stores, (7, 8))
        await drain_all(stores)
        for _ in range(20):
            assert (await socket.receive())["type"] == "next"
    assert ticks.total["work"] >= 20 * LONG_WORK
    assert ticks.most["work"] <= 2 * SLICE_WORK


async def test_short_operations_take_no_turn(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = """{ user(id: "1") {
        id followerCount followingCount friendCount viewerRelation { state } viewerCanFollow
        followers(first: 20) { nodes { id } }
    } }"""
    await gateway.data(query, viewer=1)
    asked: list[float] = []
    fits = Turns.fits

    def recording_fits(turns: Turns, part: float) -> bool:
        asked.append(part)
        return fits(turns, part)

    monkeypatch.setattr(Turns, "fits", recording_fits)
    await asyncio.gather(*(gateway.data(query, viewer=1) for _ in range(40)))
    assert asked == []


def _count_begun(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the work of the operations that begin."""
    execute = Executor.execute

    def counting_execute(executor: Executor, operation: Operation, run: Run) -> Any:
        ticks.add("work", int(operation.cost(run.values) - operation.costs.waiting_cost))
        return execute(executor, operation, run)

    monkeypatch.setattr(Executor, "execute", counting_execute)


async def _post(
    gateway: Gateway, body: bytes, token: str | None = None, accept: str = "application/json"
) -> httpx.Response:
    headers = {"content-type": "application/json", "accept": accept}
    if token is not None:
        headers["authorization"] = token
    return await gateway.http.post("/graphql", content=body, headers=headers)


def _count_lengths(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Count the bytes that this function of the endpoint reads."""
    read = getattr(request, name)

    def counting_read(given: bytes) -> request.GraphQLRequest:
        ticks.add("bytes", len(given))
        return cast("request.GraphQLRequest", read(given))

    monkeypatch.setattr(endpoint, name, counting_read)


@pytest.mark.parametrize("condition", ["", "query($x: Boolean!) "], ids=["constant", "conditions"])
async def test_the_stages_of_preparing_a_document_run_in_separate_iterations(
    condition: str, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    included = "@include(if: $x)" if condition else ""
    selection = " ".join(
        f'a{n}: user(id: "{n}") {included} {{ id followerCount }}' for n in range(1, 190)
    )
    async with loop_ticks() as ticks:
        for module, name in (
            (parsing, "parse"),
            (parsing, "DocumentSize"),
            (OperationCost, "compile"),
            (Compiler, "compiling"),
        ):
            monkeypatch.setattr(module, name, _counting_stage(ticks, getattr(module, name)))
        data = await gateway.data(f"{condition}{{ {selection} }}", viewer=1, x=True)
    assert len(data) == 189
    assert ticks.total["stages"] == 4
    assert ticks.most["stages"] == 1


def _counting_stage(ticks: LoopTicks, function: Any) -> Any:
    """The function, but each call counts as one of the stages."""

    def counting(*given: Any) -> Any:
        ticks.add("stages", 1)
        return function(*given)

    return counting


async def test_the_visibility_of_relations_of_many_users_to_one_is_checked_in_slices(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check has a fixed cost, which counts as `PAIRS_PER_CHECK` pairs."""
    query = """query($r: [_Any!]!) {
        _entities(representations: $r) { ... on User { relationMask(ids: ["1"]) } }
    }"""
    references = [{"__typename": "User", "id": str(user)} for user in range(1, 3_001)]
    async with loop_ticks() as ticks:
        _count_work(ticks, monkeypatch)
        await gateway.data(query, viewer=1, r=references)
    assert ticks.total["checks"] == 3_000
    assert ticks.most["checks"] <= PAIRS_PER_TURN / PAIRS_PER_CHECK


async def test_uncached_relations_are_built_from_rows_in_slices(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statement in LONG_LISTS.split(";"):
        await postgres.fetch(statement)
    followed, build = [UserId(user) for user in range(1001, 2501)], relations._relation
    async with loop_ticks() as ticks:

        def counting_build(*given: Any) -> Relation:
            ticks.add("relations", 1)
            return build(*given)

        monkeypatch.setattr(relations, "_relation", counting_build)
        (column,) = await relations.PostgresRelations(postgres).between(
            [Check(UserId(500), followed)]
        )
    assert all(map(rules.follows, column.kinds))
    assert ticks.total["relations"] == 1_500
    assert ticks.most["relations"] <= relations.RELATIONS_PER_SLICE


def _count_work(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count rows that the engine builds, checks and their pairs of users, arguments of Redis
    commands, and bytes of JSON."""
    execute, shared = FieldColumns.execute, SharedObjects.execute
    visible = visibility._visible_column

    def counting_execute(columns: FieldColumns, rows: Rows, run: Run) -> list[dict[str, Any]]:
        ticks.add("rows", len(rows))
        return execute(columns, rows, run)

    def counting_shared(columns: SharedObjects, rows: Rows, run: Run) -> list[dict[str, Any]]:
        ticks.add("shared", len(rows))
        return shared(columns, rows, run)

    pack = multiplexed._pack

    def counting_pack(command: Command) -> bytes:
        ticks.add("arguments", len(command))
        return pack(command)

    monkeypatch.setattr(multiplexed, "_pack", counting_pack)

    def counting_visible(scope: Any, check: Check, *others: Any) -> RelationColumn:
        ticks.add("pairs", len(check.others))
        ticks.add("checks", 1)
        return visible(scope, check, *others)

    monkeypatch.setattr(FieldColumns, "execute", counting_execute)
    monkeypatch.setattr(visibility, "_visible_column", counting_visible)
    monkeypatch.setattr(SharedObjects, "execute", counting_shared)
    _count_dumps(ticks, monkeypatch)


def _count_dumps(ticks: LoopTicks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the bytes of JSON that are serialized. Joining serialized fragments does not count."""

    def counting_dumps(value: Any) -> bytes:
        part = orjson.dumps(value)
        if b"Fragment" not in repr(value)[:200].encode():
            ticks.add("bytes", len(part))
        return part

    counting = SimpleNamespace(dumps=counting_dumps, loads=orjson.loads, Fragment=orjson.Fragment)
    for module in (json_parts, event_stream, sockets):
        monkeypatch.setattr(module, "orjson", counting)


class CountedRows(list[Any]):
    """Rows of PostgreSQL that count how many of them each access reads."""

    def __init__(self, rows: Sequence[Any], ticks: LoopTicks) -> None:
        super().__init__(rows)
        self._ticks = ticks

    def __iter__(self) -> Iterator[Any]:
        self._ticks.add("rows read", len(self))
        return super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self._ticks.add("rows read", len(found) if isinstance(key, slice) else 1)
        return found


LONG_LISTS = """
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT 1000 + s, o, 1700000000000 + s, 1, 1
FROM generate_series(1, 20) o, generate_series(1, 1500) s;
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, kind FROM following;
INSERT INTO follower_count (user_id, follows)
SELECT o, 1500 FROM generate_series(1, 20) o;
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT 500, 1000 + s, 1700000000000 + s, 1, 1 FROM generate_series(1, 1500) s;
INSERT INTO following_count (user_id, follows) VALUES (500, 1500)
"""
"""Users 1 to 20 have the same 1,500 followers. User 500 follows all of these."""


@pytest.mark.parametrize(
    "selection",
    [
        'relationWith(ids: ["999"]) { state }',
        "followers(first: 1) { nodes { id } }",
        'followers(first: 1, filter: {since: "2000-01-01T00:00:00Z"}) { totalCount }',
        "followersYouKnow(first: 1) { nodes { id } }",
    ],
    ids=["relations", "lists", "filtered totals", "overlaps"],
)
async def test_uncached_long_lists_are_read_in_slices(
    selection: str, gateway: Gateway, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statement in LONG_LISTS.split(";"):
        await postgres.fetch(statement)
    query = f"query($ids: [ID!]!) {{ users(ids: $ids) {{ {selection} }} }}"
    fetch = Connection.fetch
    async with loop_ticks() as ticks:

        async def counting_fetch(of: Connection, *arguments: Any) -> Any:
            return CountedRows(await fetch(of, *arguments), ticks)

        monkeypatch.setattr(Connection, "fetch", counting_fetch)
        await gateway.data(query, viewer=500, ids=[str(user) for user in range(1, 21)])
    assert ticks.total["rows read"] >= 30_000
    assert ticks.most["rows read"] <= 1.5 * ROWS_PER_SLICE
