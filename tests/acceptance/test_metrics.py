"""The metrics of gateways and workers: they follow Prometheus' conventions and count correctly."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from gateway.graphql.operation_names import ANONYMOUS, OTHER
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.gateway import Gateway, running_gateway
from workers import job_metrics, main, spaces

ROOT = Path(__file__).parents[2]
OTHER_UNITS = re.compile(r"_(ms|milliseconds|minutes|us|kb|mb|percent)(_|$)")


async def families(gateway: Gateway) -> dict[str, Metric]:
    """The metric families of a scrape, by name. Names of counters lack `_total`."""
    text = (await gateway.http.get("/metrics")).text
    return {one.name: one for one in text_string_to_metric_families(text)}


def value(family: Metric, suffix: str = "", **labels: str) -> float:
    """The sum of the samples with these labels."""
    return sum(
        sample.value
        for sample in family.samples
        if sample.name == family.name + suffix and labels.items() <= sample.labels.items()
    )


async def kith_metrics(settings: StorageSettings) -> dict[str, Metric]:
    """All metrics of a gateway and a worker whose names begin with `kith_`, by name."""
    for module in (main, spaces):
        assert module.__name__, "the import declares the metrics of its jobs"
    jobs = job_metrics.JobMetrics()
    with jobs.measured("test"):
        pass
    hot = replace(settings, local=replace(settings.local, ttl_ms=5_000))
    async with running_gateway(hot) as gateway:
        found = await families(gateway)
    found |= {one.name: one for one in (*REGISTRY.collect(), *jobs.collect())}
    return {name: family for name, family in found.items() if name.startswith("kith_")}


async def test_metrics_have_standard_types_and_base_units(
    storage_settings: StorageSettings,
) -> None:
    found = await kith_metrics(storage_settings)
    assert len(found) > 30
    for name, family in found.items():
        assert family.type in ("counter", "gauge", "histogram"), name
        assert family.documentation.endswith("."), name
        assert not OTHER_UNITS.search(name), name
        if family.type == "counter":
            assert all(sample.name == f"{name}_total" for sample in family.samples), name
        else:
            assert not name.endswith("_total"), name


async def test_the_page_of_metrics_lists_every_metric(storage_settings: StorageSettings) -> None:
    found = await kith_metrics(storage_settings)
    exported = {
        f"{name}_total" if family.type == "counter" else name for name, family in found.items()
    }
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    current, _, _ = page.partition("## Renamed metrics")
    listed = set(re.findall(r"^\| `(kith_\w+)", current, re.MULTILINE))
    assert sorted((listed - {"kith_process_up"}) ^ exported) == []


async def test_requests_count_by_operation_name_and_code(gateway: Gateway) -> None:
    await gateway.answer("query Named { user(id: 1) { id } }")
    await gateway.answer("query Named { user(id: 1) { id } }")
    await gateway.answer("{ user(id: 1) { id } }")
    await gateway.answer("query Named { viewer { user { id } } } mutation Other { x }")
    await gateway.answer("query Named { user(id: 1) { followers(first: 500) { totalCount } } }")
    found = await families(gateway)
    requests = found["kith_requests"]
    assert value(requests, "_total", operation="Named", code="OK") == 2
    assert value(requests, "_total", operation=ANONYMOUS, code="OK") == 1
    assert value(requests, "_total", operation="Named") == 3, "the one with an error counts, too"
    assert value(requests, "_total") == 5
    durations = found["kith_request_duration_seconds"]
    assert value(durations, "_count", operation="Named") == 3
    assert value(durations, "_bucket", operation="Named", le="+Inf") == 3


async def test_at_most_50_operation_names_have_series_of_their_own(gateway: Gateway) -> None:
    for n in range(120):
        await gateway.answer(f"query Named{n} {{ user(id: 1) {{ id }} }}")
    await gateway.answer(f"query {'N' * 65} {{ user(id: 1) {{ id }} }}")
    requests = (await families(gateway))["kith_requests"]
    operations = {sample.labels["operation"] for sample in requests.samples}
    assert len(operations - {ANONYMOUS, OTHER}) == 50
    assert value(requests, "_total", operation=OTHER) == 71
    assert value(requests, "_total") == 121


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("{ user(id: 1) { followerCount } }", "profile"),
        ("{ user(id: 1) { followers(first: 1) { nodes { id } } } }", "followers"),
        ('{ viewer { user { relationWith(ids: ["2"]) { state } } } }', "relations"),
    ],
)
async def test_cache_reads_count_by_kind_of_value_and_by_layer(
    gateway: Gateway, query: str, entry: str
) -> None:
    async def read() -> tuple[float, float]:
        before = (await families(gateway))["kith_cache_reads"]
        await gateway.data(query, viewer=1)
        after = (await families(gateway))["kith_cache_reads"]
        tables, redis = (
            value(after, "_total", entry=entry, layer=layer)
            - value(before, "_total", entry=entry, layer=layer)
            for layer in ("tables", "redis")
        )
        return tables, redis

    assert await read() == (1, 0)
    assert await read() == (0, 1)


async def test_postgresql_statements_and_redis_calls_are_timed(
    gateway: Gateway, stores: Stores
) -> None:
    before = await families(gateway)
    await gateway.data("{ user(id: 1) { followerCount } }")
    after = await families(gateway)
    for name in ("kith_postgres_statement_duration_seconds", "kith_redis_call_duration_seconds"):
        assert value(after[name], "_count") > value(before[name], "_count"), name
    assert value(after["kith_postgres_pool_connections_max"]) == 8
    assert value(after["kith_redis_breakers_open"]) == 0


async def test_outbox_metrics_show_the_changes_and_the_age_of_one_lane(gateway: Gateway) -> None:
    await gateway.data('mutation { followUser(input: { userId: "2" }) { outcome } }', viewer=1)
    found = await families(gateway)
    assert value(found["kith_outbox_changes"]) == 1
    assert sum(sample.value > 0 for sample in found["kith_outbox_oldest_seconds"].samples) == 1
    assert value(found["kith_outbox_parked_changes"]) == 0
