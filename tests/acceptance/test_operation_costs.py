"""Costs of operations: the limit of one operation, the budgets of callers, and `rateLimit`."""

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from engine import parsing
from engine.variables import Variables
from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE
from gateway.graphql.request import LONG_VARIABLES_BYTES
from gateway.graphql.settings import CostSettings
from gateway.http.client_address import parse_proxies
from resolvers import follow_groups, overlap
from resolvers.policy import Policy
from schema import weights
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.acceptance.test_costs import METRICS_COST, REDIS_ROUND_TRIPS
from tests.support.gateway import Gateway, running_gateway
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import LiveGateway, live_gateway
from tests.support.redis_proxy import proxy_to

THREE_LEVELS = "{ id }"
for _ in range(3):
    THREE_LEVELS = f"{{ followers(first: 100) {{ nodes {THREE_LEVELS} }} }}"
COSTLY_FIELD = f'user(id: "1") {THREE_LEVELS}'
COSTLY_QUERY = f"{{ {COSTLY_FIELD} }}"
MASKS = (
    "query ($users: [ID!]!, $ids: [ID!]!) { "
    + " ".join(f"m{n}: users(ids: $users) {{ relationMask(ids: $ids) }}" for n in range(60))
    + " }"
)
RELATIONS = """
query ($users: [ID!]!, $ids: [ID!]!) {
  users(ids: $users) { relationWith(ids: $ids) { id state followedAt } }
}
"""
IDS = [str(number) for number in range(1, 1_001)]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        (COSTLY_QUERY, {}),
        (f"{{ __schema {{ description }} {COSTLY_QUERY[1:]}", {}),
        (MASKS, {"users": IDS[:100], "ids": IDS}),
        (RELATIONS, {"users": IDS[:98], "ids": IDS}),
    ],
)
async def test_an_operation_that_costs_too_much_is_rejected_before_anything_is_read(
    gateway: Gateway, query: str, variables: dict[str, Any]
) -> None:
    await gateway.data('{ user(id: "1") { followerCount } }')
    before = await work_counts(gateway)
    for _ in range(2):  # also when its document is cached
        error = await gateway.error(query, viewer=1, **variables)
        extensions = error["extensions"]
        assert extensions["code"] == "COST_LIMIT_EXCEEDED"
        assert extensions["cost"] > extensions["limit"]
        assert f"{extensions['cost']:,}" in error["message"]
        assert "data" not in await gateway.answer(query, viewer=1, **variables)
    planned, round_trips = await work_counts(gateway)
    assert (planned, round_trips - METRICS_COST.round_trips) == before


async def test_a_service_may_run_operations_that_cost_more(gateway: Gateway) -> None:
    variables: dict[str, Any] = {"users": IDS[:80], "ids": IDS}
    error = await gateway.error(RELATIONS, viewer=1, **variables)
    assert error["extensions"]["code"] == "COST_LIMIT_EXCEEDED"
    assert await gateway.as_service.data(RELATIONS, **variables)
    assert await gateway.as_service.data(RELATIONS, viewer=1, **variables)


async def work_counts(gateway: Gateway) -> tuple[float, int]:
    """The operations that the engine has planned and the round trips to Redis so far."""
    text = (await gateway.http.get("/metrics")).text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    trips = [values[name] for name in values if name.startswith(REDIS_ROUND_TRIPS)]
    return float(values["kith_engine_planned_total"]), int(sum(map(float, trips)))


COUNTS = '{ user(id: "1") { followerCount } }'
RATE_LIMIT = "rateLimit { cost limit remaining resetAt }"
COST_HEADER = {"kith-cost": "1"}
SMALL_BUDGETS = CostSettings(limit=2_000, budget=2_000, anonymous_budget=2_000)
"""Budgets that a few operations use up."""


async def test_a_response_contains_its_cost_if_the_header_asks_for_it(gateway: Gateway) -> None:
    await gateway.data(COUNTS, viewer=9)  # so that the new document is charged here
    response = await gateway.http.post("/graphql", json={"query": COUNTS}, headers=COST_HEADER)
    cost = response.json()["extensions"]["cost"]
    assert set(cost) == {"requested", "limit", "remaining", "resetAt"}
    assert 0 < cost["requested"] < cost["limit"]
    assert cost["remaining"] == cost["limit"] - cost["requested"]
    assert cost["resetAt"].endswith("+00:00")
    assert "extensions" not in await gateway.answer(COUNTS)


async def test_a_query_can_ask_for_its_cost(gateway: Gateway) -> None:
    query = f'{{ {RATE_LIMIT} user(id: "1") {{ followerCount }} }}'
    await gateway.data(query, viewer=9)  # so that the new document is charged here
    first = await gateway.data(query, viewer=7)
    assert first["user"] == {"followerCount": 0}
    second = await gateway.data(query, viewer=7)
    limits = first["rateLimit"], second["rateLimit"]
    assert limits[0]["cost"] == limits[1]["cost"] > 0
    assert limits[0]["limit"] - limits[0]["remaining"] == limits[0]["cost"]
    other = (await gateway.data(query, viewer=8))["rateLimit"]
    assert other["remaining"] == limits[0]["remaining"]
    assert limits[0]["resetAt"] <= limits[1]["resetAt"]


async def test_a_dry_run_returns_the_cost_and_reads_nothing(gateway: Gateway) -> None:
    await gateway.data(COUNTS)
    _, before = await work_counts(gateway)
    limit = "rateLimit(dryRun: $dry) { cost remaining limit }"
    dry = f"query ($dry: Boolean!) {{ {limit} {COSTLY_FIELD} }}"
    await gateway.data(dry, viewer=9, dry=True)  # so that the new document is charged here
    answer = await gateway.data(dry, viewer=1, dry=True)
    assert set(answer) == {"rateLimit"}
    error = await gateway.error(dry, viewer=1, dry=False)
    assert answer["rateLimit"]["cost"] == error["extensions"]["cost"]
    _, round_trips = await work_counts(gateway)
    assert round_trips - METRICS_COST.round_trips == before
    # The budget is charged for the dry run, not for the operation.
    assert answer["rateLimit"]["limit"] - answer["rateLimit"]["remaining"] < 1_000


async def test_a_dry_run_can_be_asked_for_in_a_fragment(gateway: Gateway) -> None:
    query = f"""query {{ ...F a: rateLimit {{ cost }} }}
    fragment F on Query {{ rateLimit(dryRun: true) {{ cost }} {COSTLY_FIELD} }}"""
    answer = await gateway.data(query)
    assert set(answer) == {"rateLimit", "a"}
    assert answer["rateLimit"]["cost"] == answer["a"]["cost"] > 1_000_000


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("{ ...F @skip(if: $c) a: rateLimit(dryRun: true) { cost } }", {"a"}),
        (
            "{ ... @skip(if: $c) { b: rateLimit { cost } } a: rateLimit(dryRun: true) { cost } }",
            {"a"},
        ),
        ("{ ...F @include(if: $c) ...G @skip(if: $c) }", {"rateLimit"}),
        ("{ ...G rateLimit(dryRun: $c) @include(if: $c) { cost } }", {"rateLimit"}),
        # What is skipped asks for no dry run.
        ("{ ...G rateLimit(dryRun: true) @skip(if: $c) { cost } }", {"user"}),
        ("{ ...G ...F @skip(if: $c) }", {"user"}),
    ],
)
async def test_a_dry_run_skips_what_the_operation_skips(
    gateway: Gateway, query: str, keys: set[str]
) -> None:
    fragments = """
    fragment F on Query { rateLimit(dryRun: true) { cost } }
    fragment G on Query { user(id: "7") { followerCount } }"""
    used = "".join(
        f"fragment{part}" for part in fragments.split("fragment")[1:] if f"...{part[1]}" in query
    )
    answer = await gateway.data(f"query ($c: Boolean!) {query} {used}", viewer=1, c=True)
    assert set(answer) == keys


async def test_without_budgets_rate_limit_returns_only_the_cost(
    storage_settings: StorageSettings,
) -> None:
    costs = CostSettings(budget=0, anonymous_budget=0, service_budget=0)
    async with running_gateway(storage_settings, costs=costs) as gateway:
        for caller in (gateway, gateway.as_service):
            found = (await caller.data(f"{{ {RATE_LIMIT} }}", viewer=1))["rateLimit"]
            assert found.pop("cost") > 0
            assert found == {"limit": None, "remaining": None, "resetAt": None}


async def first_rejected(gateway: Gateway, headers: dict[str, str]) -> httpx.Response:
    """Send requests until the budget is used up. Returns the first response that is not 200."""
    for _ in range(100):
        body = {"query": COUNTS}
        response = await gateway.http.post("/graphql", json=body, headers=headers)
        if response.status_code != 200:
            return response
        assert response.json() == {"data": {"user": {"followerCount": 0}}}
    raise AssertionError("100 requests did not use up the budget")


@pytest.mark.parametrize("headers", [{"x-viewer": "1"}, {}])
async def test_a_request_over_budget_gets_429_with_the_time_to_wait(
    storage_settings: StorageSettings, headers: dict[str, str]
) -> None:
    async with running_gateway(storage_settings, costs=SMALL_BUDGETS) as gateway:
        response = await first_rejected(gateway, headers)
        assert response.status_code == 429
        (error,) = response.json()["errors"]
        assert error["extensions"]["code"] == "RATE_LIMITED"
        wait_ms = error["extensions"]["retryAfterMs"]
        assert 0 < wait_ms <= 60_000
        assert response.headers["retry-after"] == str(-(-wait_ms // 1_000))
        # Other callers are not affected, and other gateways count the same budget.
        assert await gateway.data(COUNTS, viewer=2)
        assert await gateway.as_service.data(COUNTS, viewer=1)
        async with running_gateway(storage_settings, costs=SMALL_BUDGETS) as second:
            assert (await first_rejected(second, headers)).status_code == 429


async def test_each_client_address_behind_a_proxy_has_its_own_budget(
    storage_settings: StorageSettings,
) -> None:
    proxies = parse_proxies("127.0.0.0/8")
    async with running_gateway(storage_settings, costs=SMALL_BUDGETS, proxies=proxies) as gateway:
        response = await first_rejected(gateway, {"x-forwarded-for": "192.0.2.1"})
        assert response.status_code == 429
        response = await gateway.http.post(
            "/graphql", json={"query": COUNTS}, headers={"x-forwarded-for": "192.0.2.2"}
        )
        assert response.status_code == 200


async def test_budgets_are_enforced_without_redis(
    storage_settings: StorageSettings, tmp_path: Path
) -> None:
    async with proxy_to(storage_settings.redis_url, tmp_path) as (proxy, proxy_url):
        settings = replace(storage_settings, redis_url=proxy_url)
        async with running_gateway(settings, costs=SMALL_BUDGETS) as gateway:
            await proxy.cut()
            response = await first_rejected(gateway, {"x-viewer": "1"})
            assert response.status_code == 429


async def test_web_sockets_and_event_streams_report_a_used_up_budget_as_rate_limited(
    storage_settings: StorageSettings,
) -> None:
    async with live_gateway(storage_settings, costs=SMALL_BUDGETS) as live:
        async with live.socket(viewer=1) as socket:
            for _ in range(100):
                await socket.subscribe(COUNTS)
                message = await socket.receive()
                if message["type"] == "error":
                    break
                assert (await socket.receive())["type"] == "complete"
            (error,) = message["payload"]
            assert error["extensions"]["code"] == "RATE_LIMITED"
            page = "followers(first: 100) { nodes { id } }"
            await socket.subscribe(f'subscription {{ countsChanged(userId: "1") {{ {page} }} }}')
            message = await socket.receive()
            assert message["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
        query = f'{{ user(id: "1") {{ {page} }} }}'
        async with live.events(query, viewer=1) as events:
            name, result = await anext(events)
            assert name == "next"
            assert result["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
        async with http_client() as client:
            metrics = (await client.get(f"http://127.0.0.1:{live.port}/metrics")).text
        counted = re.findall(r'^kith_requests_total{code="RATE_LIMITED",.*} (.+)$', metrics, re.M)
        assert sum(map(float, counted)) >= 2  # a query of the web socket, and the event stream


async def test_a_web_socket_sends_the_cost_if_the_header_asks_for_it(live: LiveGateway) -> None:
    async with live.socket(viewer=1, additional_headers=[("kith-cost", "1")]) as socket:
        await socket.subscribe(COUNTS)
        payload = (await socket.receive())["payload"]
        assert payload["extensions"]["cost"]["requested"] > 0


async def test_each_client_id_of_a_service_has_its_own_budget(
    storage_settings: StorageSettings,
) -> None:
    def service_headers(client_id: str | None) -> dict[str, str]:
        claims = {"scope": SERVICE, "exp": int(time.time()) + 600}
        if client_id is not None:
            claims["client_id"] = client_id
        token = jwt.encode(claims, DEVELOPMENT_SECRET, algorithm="HS256")
        return {"authorization": f"Bearer {token}"}

    costs = replace(SMALL_BUDGETS, service_limit=2_000, service_budget=2_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:
        for client_id in ("feed", "mail", None):
            body, headers = {"query": COUNTS}, service_headers(client_id)
            first = await gateway.http.post("/graphql", json=body, headers=headers)
            assert first.status_code == 200
            assert (await first_rejected(gateway, headers)).status_code == 429


@pytest.mark.parametrize("template", ['{{ user(id: "{}") {{ id }} }}', "{{ nothing{} }}", "{{ {}"])
async def test_new_documents_are_charged_also_if_they_are_rejected(
    storage_settings: StorageSettings, template: str
) -> None:
    costs = replace(SMALL_BUDGETS, budget=10_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:

        async def code(document: str, viewer: str) -> str | None:
            body, headers = {"query": document}, {"x-viewer": viewer}
            response = await gateway.http.post("/graphql", json=body, headers=headers)
            errors = response.json().get("errors")
            return errors[0]["extensions"]["code"] if errors else None

        first = template.format(1)
        expected = await code(first, "1")
        codes = [await code(template.format(number), "1") for number in range(2, 60)]
        assert codes[0] == expected
        assert codes[-1] == "RATE_LIMITED"
        # A cached document is charged for its operation only, and other users are not affected.
        assert await code(template.format(100), "2") == expected
        if expected is not None:
            assert await code(first, "1") == expected


@pytest.mark.parametrize("condition", ["", "@include(if: $x)"], ids=["plain", "with a condition"])
async def test_requests_with_invalid_variables_are_charged(
    storage_settings: StorageSettings, condition: str
) -> None:
    costs = replace(SMALL_BUDGETS, budget=10_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:
        declared = "($ids: [ID!]!, $x: Boolean! = true)" if condition else "($ids: [ID!]!)"
        query = f"query {declared} {{ users(ids: $ids) {condition} {{ id }} }}"
        for _ in range(30):
            answer = await gateway.answer(query, viewer=1, ids=[{}] * 10)
            (*_, error) = answer["errors"]
            assert error["extensions"]["code"] == "BAD_USER_INPUT"
        (error,) = (await gateway.answer(query, viewer=1, ids=["1"]))["errors"]
        assert error["extensions"]["code"] == "RATE_LIMITED"
        assert "errors" not in await gateway.answer(query, viewer=2, ids=["1"])


async def test_operation_names_that_the_document_does_not_have_are_charged(
    storage_settings: StorageSettings,
) -> None:
    costs = replace(SMALL_BUDGETS, budget=10_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:

        async def code(viewer: int, name: str) -> str | None:
            given = {"query": "query A { __typename }", "operationName": name}
            headers = {"x-viewer": str(viewer)}
            answer = (await gateway.http.post("/graphql", json=given, headers=headers)).json()
            return answer["errors"][0]["extensions"]["code"] if "errors" in answer else None

        assert await code(2, "A") is None  # the document is cached from now on
        for _ in range(100):
            assert await code(1, "B") == "OPERATION_RESOLUTION_FAILED"
        assert await code(1, "A") == "RATE_LIMITED"
        assert await code(2, "A") is None


COSTLY_WITH_VARIABLES = """query ($n: Int = 100, $x: Boolean = true) {
    user(id: 1) { followers(first: $n) { nodes { followers(first: $n) { nodes {
        followers(first: $n) @include(if: $x) { nodes { id } } } } } } }
}"""


async def test_an_operation_that_costs_too_much_is_rejected_before_its_document_is_validated(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def counted(name: str) -> None:
        step = getattr(parsing, name)

        def counting(*given: Any) -> Any:
            steps.append(name)
            return step(*given)

        monkeypatch.setattr(parsing, name, counting)

    counted("parse")
    counted("validation")
    expected = await gateway.data(
        COSTLY_WITH_VARIABLES.replace("{", "{ rateLimit(dryRun: true) { cost }", 1)
    )
    assert steps == ["parse", "validation"]
    for undeclared in ("", "x" * LONG_VARIABLES_BYTES, ""):
        error = await gateway.error(COSTLY_WITH_VARIABLES, undeclared=undeclared)
        assert error["extensions"]["code"] == "COST_LIMIT_EXCEEDED"
        assert 0 < expected["rateLimit"]["cost"] - error["extensions"]["cost"] < 5  # `rateLimit`
    assert steps == ["parse", "validation", "parse"]
    assert (await gateway.error(COSTLY_WITH_VARIABLES, n="many"))["extensions"][
        "code"
    ] == "BAD_USER_INPUT"
    assert steps == ["parse", "validation", "parse", "validation"]
    assert (await gateway.error(COSTLY_WITH_VARIABLES))["extensions"][
        "code"
    ] == "COST_LIMIT_EXCEEDED"
    assert "user" in await gateway.data(COSTLY_WITH_VARIABLES, n=1)
    assert "user" in await gateway.data(COSTLY_WITH_VARIABLES, n=10, x=False)
    assert steps == ["parse", "validation", "parse", "validation"]


@pytest.mark.parametrize(
    "document",
    [
        COSTLY_WITH_VARIABLES.replace("id }", "unknown }"),
        COSTLY_WITH_VARIABLES.replace("id }", "...Unknown }"),
        COSTLY_WITH_VARIABLES.replace("nodes { id }", "nodes { id { id } }").replace(
            "= 100", "= 1"
        ),
        COSTLY_WITH_VARIABLES.replace("id }", "...F }")
        + "fragment F on User { followers { nodes { ...F } } }",
        COSTLY_WITH_VARIABLES.replace("$x: Boolean = true", "$x: Unknown = 7"),
        COSTLY_WITH_VARIABLES.replace("query", "mutation"),
    ],
)
async def test_an_invalid_document_without_a_computable_cost_is_rejected_with_validation_errors(
    document: str, gateway: Gateway
) -> None:
    answer = await gateway.answer(document)
    assert answer["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"


@pytest.mark.parametrize("selection", ["id", "followers(first: 100) { nodes { id } }"])
async def test_each_new_combination_of_include_conditions_is_charged_as_a_new_document(
    storage_settings: StorageSettings, selection: str
) -> None:
    names = [f"v{number}" for number in range(6)]
    query = (
        f"query ({', '.join(f'${name}: Boolean!' for name in names)}) {{ "
        + " ".join(
            f'{name}: user(id: "1") @include(if: ${name}) {{ {selection} }}' for name in names
        )
        + " }"
    )
    # An operation that reads lists is over the limit, so only compiling it is charged.
    costs = replace(SMALL_BUDGETS, budget=20_000, limit=1_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:

        async def code(number: int, viewer: str) -> str | None:
            """The error code with the bits of `number` as the conditions."""
            chosen = {name: bool(number >> bit & 1) for bit, name in enumerate(names)}
            body = {"query": query, "variables": chosen}
            headers = {"x-viewer": viewer}
            response = await gateway.http.post("/graphql", json=body, headers=headers)
            errors = response.json().get("errors")
            return errors[0]["extensions"]["code"] if errors else None

        expected = await code(63, "1")
        assert expected != "RATE_LIMITED"
        assert [await code(63, "1") for _ in range(8)] == [expected] * 8
        assert "RATE_LIMITED" in [await code(number, "1") for number in range(1, 60)]
        assert await code(62, "2") != "RATE_LIMITED"


@pytest.mark.parametrize("shown", ["true", "$shown"])
async def test_the_variables_of_a_request_are_coerced_once(
    live: LiveGateway, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    coerced: list[object] = []
    coerce = Variables.coerce

    def counted(variables: Variables, raw: Any) -> Any:
        coerced.append(raw)
        return coerce(variables, raw)

    monkeypatch.setattr(Variables, "coerce", counted)
    query = f"query ($shown: Boolean!) {{ user(id: 1) @include(if: {shown}) {{ id }} }}"
    query = query if "$" in shown else query.replace("($shown: Boolean!) ", "")
    async with http_client() as client:
        for shows in (True, False, True):
            body = {"query": query, "variables": {"shown": shows}}
            assert (await client.post(live.http, json=body)).status_code == 200
            assert len(coerced) == 1
            coerced.clear()
    async with live.socket() as socket:
        await socket.subscribe(query, shown=True)
        await socket.data()
        assert len(coerced) == 1


REJECTED_USERS = "users(ids: [1, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10]) { id }"
"""A field with ten errors."""


@pytest.mark.parametrize("transport", ["http", "web socket", "event stream", "subscription"])
async def test_field_errors_are_charged(
    live: LiveGateway, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    query = f"{{ {REJECTED_USERS} }}"
    async with http_client() as client:

        async def post(document: str) -> Any:
            headers = {"x-viewer": "1"}
            response = await client.post(live.http, json={"query": document}, headers=headers)
            return response.json()

        async def charged() -> int:
            rate_limit = (await post("{ rateLimit { limit remaining } }"))["data"]["rateLimit"]
            left: int = rate_limit["remaining"]
            return int(rate_limit["limit"]) - left

        async def failed_operation() -> list[Any]:
            if transport == "http":
                return list((await post(query))["errors"])
            if transport == "event stream":
                async with live.events(query, viewer=1) as events:
                    return list((await anext(events))[1]["errors"])
            async with live.socket(viewer=1) as socket:
                if transport == "web socket":
                    await socket.subscribe(query)
                else:
                    page = "followers(first: -1) { nodes { id } }"
                    await socket.subscribe(
                        f'subscription {{ countsChanged(userId: "2") {{ {page} }} }}'
                    )
                return list((await socket.receive())["payload"]["errors"])

        errors = len(await failed_operation())
        assert errors == (1 if transport == "subscription" else 10)
        assert await charged() < 1_000_000
        monkeypatch.setattr(weights, "ERROR", 10_000_000 // errors)
        await failed_operation()
        assert await charged() > 5_000_000  # less what the budget refills meanwhile


async def test_each_place_that_selects_entities_is_in_the_cost(gateway: Gateway) -> None:
    async def cost(places: int) -> int:
        selection = " ".join(
            f"a{n}: _entities(representations: []) {{ __typename }}" for n in range(places)
        )
        data = await gateway.data(f"{{ rateLimit(dryRun: true) {{ cost }} {selection} }}", viewer=1)
        found: int = data["rateLimit"]["cost"]
        return found

    assert await cost(190) - await cost(90) >= 100 * weights.AWAITED_ROOT


OVERLAPS = {
    "known": "followersYouKnow(first: 1) { nodes { id } }",
    "filtered": "followers(first: 1, filter: { viewerFollows: true }) { nodes { id } }",
    "common": "commonFollowing(with: 2, first: 1) { nodes { id } }",
}


@pytest.mark.parametrize("name", OVERLAPS)
async def test_an_overlap_of_long_lists_is_charged_by_the_number_of_lookups(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    others = range(100, 112)
    await follows(stores, *((2, other) for other in others), *((other, 3) for other in others))
    await follows(stores, *((3, other) for other in others), (1, 2))
    await drain_all(stores)
    query = f"query ($id: ID!) {{ user(id: $id) {{ {OVERLAPS[name]} }} }}"

    async def charged(user: int) -> int:
        response = await gateway.http.post(
            "/graphql",
            json={"query": query, "variables": {"id": user}},
            headers={"x-viewer": "2", "kith-cost": "1"},
        )
        assert "errors" not in response.json()
        cost = response.json()["extensions"]["cost"]
        left: int = cost["remaining"]
        return int(cost["limit"]) - left

    assert await charged(3) < 1_000_000
    monkeypatch.setattr(overlap, "LOOKUPS_INCLUDED", 2)
    monkeypatch.setattr(overlap, "LOOKUP_COST", 1_000_000)
    assert await charged(1) < 1_000_000
    assert await charged(3) > 5_000_000  # 10 lookups, less what the budget refills meanwhile


async def test_a_filtered_total_is_charged_by_the_number_of_counted_entries(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follows(stores, *((other, 3) for other in range(100, 112)))
    await drain_all(stores)
    filtered = 'followers(first: 5, filter: { since: "2000-01-01T00:00:00Z" }) { totalCount }'
    body = {"query": f'{{ user(id: "3") {{ {filtered} }} }}'}

    async def charged() -> int:
        headers = {"x-viewer": "2", "kith-cost": "1"}
        response = await gateway.http.post("/graphql", json=body, headers=headers)
        assert response.json()["data"]["user"]["followers"]["totalCount"] == 12
        cost = response.json()["extensions"]["cost"]
        left: int = cost["remaining"]
        return int(cost["limit"]) - left

    assert await charged() < 1_000_000
    monkeypatch.setattr(overlap, "COUNTED_INCLUDED", 2)
    monkeypatch.setattr(overlap, "COUNTED_COST", 1_000_000)
    assert await charged() > 5_000_000  # 10 entries, less what the budget refills meanwhile


async def test_the_cost_of_a_filter_includes_the_entries_that_it_reads(gateway: Gateway) -> None:
    dry = "rateLimit(dryRun: true) { cost }"
    page = "{ nodes { id } }"

    async def cost(arguments: str, **variables: Any) -> int:
        query = f'{dry} user(id: "1") {{ followers(first: 1{arguments}) {page} }}'
        declared = ", ".join(
            f"${name}: {kind}"
            for name, kind in (("f", "FollowerFilter"), ("d", "DateTime"))
            if name in variables
        )
        query = f"query ({declared}) {{ {query} }}" if declared else f"{{ {query} }}"
        found = await gateway.data(query, viewer=2, **variables)
        return int(found["rateLimit"]["cost"])

    date = "2020-01-01T00:00:00Z"
    plain = await cost("")
    since = await cost(f', filter: {{ since: "{date}" }}')
    followed = await cost(", filter: { viewerFollows: true }")
    assert since - plain > overlap.COUNTED_INCLUDED * overlap.COUNTED_COST
    assert followed - plain > overlap.LOOKUPS_INCLUDED * overlap.LOOKUP_COST
    assert await cost(", filter: $f", f={"since": date}) == since
    assert await cost(", filter: { since: $d }", d=date) == since
    assert await cost(", filter: $f", f={"viewerFollows": True}) == followed
    assert await cost(", filter: { since: $d }", d=None) < since


async def test_the_cost_of_an_overlap_includes_as_many_lookups_as_the_default_following_limit(
    gateway: Gateway,
) -> None:
    dry = "query ($ids: [ID!]!) { rateLimit(dryRun: true) { cost } users(ids: $ids) { %s } }"
    for selection in OVERLAPS.values():
        ids = list(map(str, range(10, 20)))
        found = await gateway.data(dry % selection, viewer=2, ids=ids)
        lookups = len(ids) * Policy().following_max
        assert found["rateLimit"]["cost"] >= lookups * overlap.LOOKUP_COST
        assert Policy().following_max == overlap.LOOKUPS_INCLUDED


async def test_the_cost_of_preparing_a_document_is_as_documented(
    storage_settings: StorageSettings,
) -> None:
    costs = replace(SMALL_BUDGETS, budget=20_000, limit=20_000)
    async with running_gateway(storage_settings, costs=costs) as gateway:
        body = {"query": '{ user(id: "1") { id } }'}
        headers = {"x-viewer": "1", "kith-cost": "1"}
        costs_of_two = []
        for _ in range(2):
            response = await gateway.http.post("/graphql", json=body, headers=headers)
            costs_of_two.append(response.json()["extensions"]["cost"])
        first, second = costs_of_two
        assert first["requested"] == second["requested"]
        assert 20_000 - first["remaining"] - first["requested"] in range(610, 624)


async def test_group_ids_of_relations_are_charged_by_the_number_of_groups(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    await follows(stores, (1, 2))
    create = """mutation ($name: String!) {
        createFollowGroup(input: { name: $name }) { group { id } } }"""
    add = """mutation ($group: ID!) {
        addToFollowGroup(input: { groupId: $group, userIds: ["2"] }) { outcome } }"""
    groups = []
    for name in "abcdefgh":
        created = await gateway.data(create, 1, name=name)
        groups.append(created["createFollowGroup"]["group"]["id"])
        await gateway.data(add, 1, group=groups[-1])
    ids = ["2", "3", "2"]
    query = "query ($ids: [ID!]!) { user(id: 1) { relationWith(ids: $ids) { groupIds } } }"

    async def charged() -> int:
        headers = {"x-viewer": "1", "kith-cost": "1"}
        body = {"query": query, "variables": {"ids": ids}}
        response = (await gateway.http.post("/graphql", json=body, headers=headers)).json()
        found = [relation["groupIds"] for relation in response["data"]["user"]["relationWith"]]
        assert found == [groups, [], groups]
        cost = response["extensions"]["cost"]
        left: int = cost["remaining"]
        return int(cost["limit"]) - left

    assert await charged() < 1_000_000
    monkeypatch.setattr(follow_groups, "GROUP_COST", 1_000_000)
    assert await charged() > 5_000_000  # 10 groups, less what the budget refills meanwhile
