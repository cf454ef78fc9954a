"""Capacity plans: their figures, their inputs, and the pages of the docs that quote them."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from bench.capacity_page import page
from bench.measured import Part, Unmeasured, figures_of
from gateway.capacity.assumptions import ASSUMPTIONS, assumptions
from gateway.capacity.demand import Demand
from gateway.capacity.inputs import Origin
from gateway.capacity.measured import measured_inputs, read_measured
from gateway.capacity.plan import Plan, plan
from gateway.commands.cli import app

ROOT = Path(__file__).parents[2]

COSTS = {
    "cpu_us_per_request": 100.0,
    "valkey_cpu_us_per_request": 10.0,
    "postgres_cpu_us_per_request": 50.0,
}
SHAPES = ("followers-20", "states-20", "states-100-cold", "followers-20-cold")
TABLES = ("following", "follower", "following_count", "follower_count")
INDEXES = [f"{table}_{kind}" for table in TABLES[:2] for kind in ("pkey", "list", "tombstone")]
RESULTS: dict[str, Any] = {
    "reads": {
        "graph": {"edges": 1000},
        "shapes": {shape: {"contestants": {"kith": COSTS}} for shape in SHAPES},
    },
    "writes": {"cpu_us_per_follow": {"gateways": 4, "worker": 3, "postgres": 2, "valkey": 1}},
    "sizes": {
        "graph": {
            "users": 100,
            "edges": 1000,
            "tables": [{"table": t, "rows_bytes": 1000, "all_bytes": 3000} for t in TABLES],
            "indexes": dict.fromkeys(INDEXES, 500),
        },
        "caches": [{"kind": "profile", "keys": 5, "entries": 10, "bytes": 100}],
    },
    "traffic": {
        "users": 100,
        "blocks": {"checks": 10, "page": 20},
        "transferred": {
            "checks": {"client": 1_000, "redis": 500},
            "page": {"client": 2_000, "redis": 1_500},
        },
        "logged": {"wal_bytes": 2_000, "image_bytes": 81_920},
    },
    "cluster": {"gateway_us_ratio": {"page": 1.5, "check": 1.25, "write": 2}, "shapes": {}},
    "citus": {"postgres_us_ratio": {"miss": 2, "write": 4}, "operations": {}},
}
NEUTRAL = (
    *(
        "bloat=1",
        "disk_full=1",
        "heap_fetches=0",
        "memory_share=0",
        "receipt_days=0",
        "wal_hours=0",
    ),
    "ended_share=0",
)
"""Assumptions that change nothing, so that results can be computed by hand."""


def save_results(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / f"{name}.json").write_bytes(orjson.dumps(RESULTS[name]))
    return folder


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    return figures_of(list(Part), save_results(tmp_path, *RESULTS))


def plan_with(content: dict[str, Any], *changes: str, **demand: int) -> Plan:
    return plan(Demand(**demand), measured_inputs(content), assumptions([*NEUTRAL, *changes]))


def default_plan() -> Plan:
    return plan(Demand(), measured_inputs(read_measured()), assumptions())


def test_docs_capacity_md_is_up_to_date() -> None:
    result = (ROOT / "docs" / "capacity.md").read_text(encoding="utf-8")
    assert result == page(), "run python -m bench.capacity_page > docs/capacity.md"


def test_the_inputs_are_computed_from_the_results_of_the_bench(content: dict[str, Any]) -> None:
    inputs = {one.name: one.value for one in measured_inputs(content)}
    assert (inputs["page_gateway_us"], inputs["check_valkey_us"]) == (100, 10)
    assert (inputs["miss_postgres_us"], inputs["write_worker_us"]) == (50, 3)
    assert (inputs["edge_bytes"], inputs["user_bytes"]) == (6, 60)
    assert (inputs["edges_per_user"], inputs["cached_user_bytes"]) == (10, 20)
    assert (inputs["miss_blocks"], inputs["page_cluster_ratio"]) == (15, 1.5)


def test_the_file_of_measured_figures_has_the_current_format(content: dict[str, Any]) -> None:
    stored = read_measured()
    assert content.keys() == stored.keys()
    assert all(content[part].keys() == stored[part].keys() for part in content)
    assert content["reads"]["cpu_us"].keys() == stored["reads"]["cpu_us"].keys()


def test_a_missing_result_is_reported_with_its_command(tmp_path: Path) -> None:
    folder = save_results(tmp_path, "reads")
    assert figures_of([Part.READS], folder).keys() == {"reads"}
    with pytest.raises(Unmeasured, match=r"writes.json is missing: run `python -m bench.writes`"):
        figures_of(list(Part), folder)


def test_disk_space_is_computed_from_the_bytes_of_edges_and_users(content: dict[str, Any]) -> None:
    made = plan_with(content, edges=10**9)
    # 6 bytes for each edge, and 60 for each user. There is one user for 10 edges.
    assert made.value("PostgreSQL", "tables and indexes, freshly loaded") == 12
    assert made.value("PostgreSQL", "disk of all copies") == 24
    with_bloat = plan_with(content, "bloat=1.5", "disk_full=0.5", edges=10**9)
    assert with_bloat.value("PostgreSQL", "disk of one copy, with WAL and headroom") == 36


def test_ended_relations_leave_tombstones_that_are_kept_for_days(content: dict[str, Any]) -> None:
    sizes = ("ended_share=0.5", "tombstone_bytes=100", "tombstone_days=10")
    with_tombstones = plan_with(content, *sizes, edges=10**9, writes=1_000)
    without = plan_with(content, edges=10**9, writes=1_000)
    title = "one copy, with bloat, receipts and tombstones"
    added = with_tombstones.value("PostgreSQL", title) - without.value("PostgreSQL", title)
    assert added == pytest.approx(500 * 86_400 * 10 * 100 / 10**9)


def test_cache_misses_are_read_from_disk_except_for_the_share_in_memory(
    content: dict[str, Any],
) -> None:
    demand = {"edges": 10**9, "writes": 0, "lists": 1_000, "checks": 0}
    made = plan_with(content, "hits=0.9", **demand)
    assert made.value("PostgreSQL", "blocks read from disk") == pytest.approx(100 * 15)
    some = plan_with(content, "hits=0.9", "memory_share=0.5", "heap_fetches=1", **demand)
    # 15 blocks, and one for each of a user's edges in both directions.
    assert some.value("PostgreSQL", "blocks read from disk") == pytest.approx(100 * 35 / 2)


def test_postgresql_needs_more_cores_where_one_machine_is_not_enough(
    content: dict[str, Any],
) -> None:
    demand = {"edges": 10**9, "writes": 100_000, "lists": 100_000, "checks": 0}
    shared = ("hits=0", "busy=1", "memory_share=1", "disk_iops=1e9", "disk_gb=1e9")
    one = plan_with(content, *shared, "cores=16", **demand)
    # Per second: 100,000 misses at 50 µs, and as many writes at 2 µs.
    assert one.value("PostgreSQL", "cores") == pytest.approx(5.2)
    assert one.value("PostgreSQL", "machines for one copy") == 1
    many = plan_with(content, *shared, "cores=5", **demand)
    assert many.value("PostgreSQL", "cores") == pytest.approx(2 * 5 + 4 * 0.2)
    assert many.value("PostgreSQL", "machines for one copy") == 3


def test_wal_includes_full_page_images(content: dict[str, Any]) -> None:
    made = plan_with(content, "image_share=0.5", "image_ratio=0.5", writes=1_000)
    assert made.value("PostgreSQL", "WAL") == pytest.approx(2 + 81.92 / 4)
    without = plan_with(content, "image_share=0", writes=1_000)
    assert without.value("PostgreSQL", "WAL") == pytest.approx(2)


def test_the_machines_for_caches_include_replicas_and_fragmentation(
    content: dict[str, Any],
) -> None:
    # 2e9 users at 20 bytes are 37.25 GiB, which do not fit 10 machines of 4 GiB.
    sizes = ("cached_users=1", "memory_gib=4", "redis_memory=1", "fragmentation=1.2", "replicas=1")
    made = plan_with(content, *sizes, edges=2 * 10**10, lists=0, checks=0, writes=0)
    assert made.value("caches", "primaries") == 12
    assert made.value("caches", "machines, with replicas") == 24


def test_gateways_need_more_cores_if_the_caches_are_a_cluster(content: dict[str, Any]) -> None:
    demand = {"edges": 1_000, "writes": 0, "lists": 10_000, "checks": 0}
    one = plan_with(content, "hits=1", "busy=1", **demand)
    assert one.value("caches", "primaries") == 1
    assert one.value("gateways", "cores, a process on each") == pytest.approx(1)
    # Valkey uses one core. If that may be busy for 5% of the time only, one is not enough.
    many = plan_with(content, "hits=1", "busy=0.05", **demand)
    assert many.value("caches", "primaries") == 3
    assert many.value("gateways", "cores, a process on each") == pytest.approx(1 * 1.5 / 0.05)


def test_cores_limit_the_reads_that_a_region_serves_with_empty_caches(
    content: dict[str, Any],
) -> None:
    title = ("a region that fails", "reads served with empty caches")
    demand = {"edges": 10**9, "writes": 0, "lists": 100_000, "checks": 0}
    disks = plan_with(content, "hits=0", "cores=64", "disk_iops=150_000", **demand)
    machines = disks.value("PostgreSQL", "machines for one copy")
    assert disks.value(*title) == pytest.approx(machines * 150_000 / 15)
    cores = plan_with(content, "hits=0", "cores=1", "disk_iops=1e9", "disk_gb=1e9", **demand)
    # A read with an empty cache takes 50 µs of CPU time, and twice that on Citus.
    machines = cores.value("PostgreSQL", "machines for one copy")
    assert machines > 1
    assert cores.value(*title) == pytest.approx(machines * 1e6 / 100)


def test_a_failed_region_loses_the_writes_that_its_standby_lacks(content: dict[str, Any]) -> None:
    made = plan_with(content, "region_lag_s=3", writes=1_000)
    assert made.value("a region that fails", "acknowledged writes that are lost") == 3_000


def test_every_quantity_names_its_inputs_and_every_input_is_used() -> None:
    made = default_plan()
    names = {one.name for one in made.inputs}
    assert all(one.sources and names.issuperset(one.sources) for one in made.planned)
    used = {name for one in made.planned for name in one.sources}
    assert used == names, "an input is not used"


@pytest.mark.parametrize("one", ASSUMPTIONS, ids=lambda one: one.name)
def test_no_quantity_depends_on_an_assumption_that_it_does_not_name(one: Any) -> None:
    before = default_plan()
    change = f"{one.name}={one.value / 2 if one.unit == 'share' else one.value * 3 + 1}"
    after = plan(Demand(), measured_inputs(read_measured()), assumptions([change]))
    changed = [old for old, new in zip(before.planned, after.planned, strict=True) if new != old]
    assert all(one.name in quantity.sources for quantity in changed)


def test_the_plan_of_five_billion_edges_has_headroom() -> None:
    made = default_plan()
    copy = made.value("PostgreSQL", "one copy, with bloat, receipts and tombstones")
    assert made.value("PostgreSQL", "disk of one copy, with WAL and headroom") > copy > 2_000
    assert made.value("caches", "machines, with replicas") >= 18


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--edges", "many"], "'many' is not a whole number"),
        (["--edges", "1.5"], "'1.5' is not a whole number"),
        (["--edges", "0"], "--edges must be at least 1, got 0."),
        (["--checks", "-1"], "--checks must be at least 0, got -1."),
        (["--assume", "hits"], "--assume takes NAME=VALUE, got 'hits'."),
        (["--assume", "hit=1"], "'hit' is not an assumption. Did you mean hits?"),
        (["--assume", "hits=1.5"], "hits must be a number, at least 0 and at most 1, got '1.5'."),
        (["--assume", "cores=0"], "cores must be a number, more than 0, got '0'."),
        (["--assume", "cores=nan"], "cores must be a number, more than 0, got 'nan'."),
        (["--from", "/nowhere.json"], "/nowhere.json cannot be read: No such file or directory."),
    ],
)
def test_the_error_for_an_invalid_option_names_it(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(app, ["capacity", *arguments])
    assert result.exit_code == 2
    assert text in " ".join(result.output.replace("│", " ").split())


def test_wrong_measured_figures_are_reported_by_name(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    file = tmp_path / "measured.json"
    lacking, negative = deepcopy(content), deepcopy(content)
    del lacking["sizes"]["bytes_per_edge"]
    negative["sizes"]["bytes_per_edge"] = -1
    for body, text in (
        (b"{", "is not JSON"),
        (b"[]", "contains no measured figures"),
        (orjson.dumps(lacking), "lack 'bytes_per_edge'"),
        (orjson.dumps(negative), "The measured edge_bytes must be above 0, got -1."),
    ):
        file.write_bytes(body)
        result = CliRunner().invoke(app, ["capacity", "--from", str(file)])
        assert result.exit_code == 2
        assert text in result.output


def test_the_command_prints_text_and_json(tmp_path: Path, content: dict[str, Any]) -> None:
    file = tmp_path / "measured.json"
    file.write_bytes(orjson.dumps(content))
    arguments = ["capacity", "--edges", "1e9", "--assume", "hits=0.5", "--from", str(file)]
    text = CliRunner().invoke(app, arguments)
    assert text.exit_code == 0
    assert "* hits" in text.output
    printed = orjson.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)
    assert printed["inputs"]["edges"]["value"] == 10**9
    assert printed["inputs"]["edge_bytes"]["origin"] == Origin.MEASURED
    tables = printed["quantities"][0]
    assert tables["value"] == 12
    assert set(tables["sources"]) == {"edges", "edge_bytes", "edges_per_user", "user_bytes"}


def test_docs_deployment_md_has_the_machines_of_the_default_plan() -> None:
    made = default_plan()
    postgres = made.value("PostgreSQL", "machines for one copy")
    caches = made.value("caches", "machines, with replicas")
    gateways = made.value("gateways", "machines")
    words = " ".join((ROOT / "docs" / "deployment.md").read_text(encoding="utf-8").split())
    text = f"has {postgres:.0f} machines for one copy of the tables, {caches:.0f} for the caches"
    assert f"{text} and {gateways:.0f} for gateways" in words
