"""The measured figures of a plan, read from `measured.json`, which `bench.measured` writes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from gateway.capacity.inputs import Input, Origin

MEASURED = Path(__file__).with_name("measured.json")

READS, WRITES, SIZES, TRAFFIC, CLUSTER, CITUS = (
    "python -m bench",
    "python -m bench.writes",
    "python -m bench.sizes",
    "python -m bench.traffic",
    "python -m bench.cluster",
    "python -m bench.citus",
)
"""The commands that measure the figures."""

_COLD = ("states-100-cold", "followers-20-cold")
"""The queries of the bench whose mean is the cost of a read with nothing cached."""
_WARM = {"page": "followers-20", "check": "states-20"}
"""The query of the bench for each kind of cached read."""


def read_measured(file: Path = MEASURED) -> dict[str, Any]:
    """The content of a file of measured figures.

    Raises:
        ValueError: it cannot be read, or is not a JSON object.
    """
    try:
        content = orjson.loads(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{file} is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise ValueError(
            f"{file} contains no measured figures. Run `python -m bench.measured` to write them."
        )
    return content


def measured_inputs(content: Mapping[str, Any]) -> tuple[Input, ...]:
    """The inputs in a file's content.

    Raises:
        ValueError: a figure is missing, or is not a positive number.
    """
    try:
        inputs = (*_cpu(content), *_sizes(content["sizes"]), *_traffic(content["traffic"]))
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"The measured figures lack {error}: `python -m bench.measured` writes them all."
        ) from error
    for one in inputs:
        if not _is_positive(one.value):
            raise ValueError(f"The measured {one.name} must be above 0, got {one.value!r}.")
    return inputs


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0


def _measured(name: str, value: float, unit: str, text: str, command: str) -> Input:
    return Input(name, value, unit, Origin.MEASURED, f"{text} (`{command}`)")


def _cpu(content: Mapping[str, Any]) -> Iterator[Input]:
    costs = content["reads"]["cpu_us"]
    for name, text in (("page", "A page of 20 from the caches"), ("check", "20 checks of them")):
        for process in ("gateway", "valkey"):
            value = costs[_WARM[name]][process]
            yield _measured(f"{name}_{process}_us", value, "µs", f"{text}: {process}", READS)
    for process in ("gateway", "valkey", "postgres"):
        value = sum(costs[shape][process] for shape in _COLD) / len(_COLD)
        text = f"A read with nothing cached: {process}"
        yield _measured(f"miss_{process}_us", value, "µs", text, READS)
    for process, value in content["writes"]["cpu_us_per_follow"].items():
        yield _measured(f"write_{process}_us", value, "µs", f"A follow: {process}", WRITES)
    for name, value in content["cluster"]["gateway_us_ratio"].items():
        text = f"A {name} with the caches in a cluster of 3 + 3, compared with one server: gateway"
        yield _measured(f"{name}_cluster_ratio", value, "factor", text, CLUSTER)
    for name, value in content["citus"]["postgres_us_ratio"].items():
        title = {"miss": "A read with nothing cached", "write": "A follow"}[name]
        text = f"{title} on Citus with three workers, compared with one server: PostgreSQL"
        yield _measured(f"{name}_citus_ratio", value, "factor", text, CITUS)


def _sizes(sizes: Mapping[str, Any]) -> Iterator[Input]:
    cached = sum(kind["per_user"] for kind in sizes["cached_bytes"].values())
    for name, value, unit, text in (
        ("edge_bytes", sizes["bytes_per_edge"], "bytes", "An edge, in both tables with indexes"),
        ("user_bytes", sizes["bytes_per_user"], "bytes", "A user, in both count tables"),
        ("edges_per_user", sizes["edges"] / sizes["users"], "edges", "Of the bench's graph"),
        ("cached_user_bytes", cached, "bytes", "All cached values of one ordinary user"),
    ):
        yield _measured(name, value, unit, text, SIZES)


def _traffic(traffic: Mapping[str, Any]) -> Iterator[Input]:
    transferred, logged = traffic["transferred"], traffic["logged"]
    disk_blocks = (traffic["blocks"]["checks"] + traffic["blocks"]["page"]) / 2
    for name, value, unit, text in (
        ("miss_blocks", disk_blocks, "blocks", "Read from disk for a read with nothing cached"),
        ("page_client_bytes", transferred["page"]["client"], "bytes", "Bodies of a page of 20"),
        ("page_redis_bytes", transferred["page"]["redis"], "bytes", "To and from Redis for it"),
        ("check_client_bytes", transferred["checks"]["client"], "bytes", "Bodies of 20 checks"),
        (
            "check_redis_bytes",
            transferred["checks"]["redis"],
            "bytes",
            "To and from Redis for them",
        ),
        (
            "write_wal_bytes",
            logged["wal_bytes"],
            "bytes",
            "WAL of a follow, its drain included, without page images",
        ),
        ("write_image_bytes", logged["image_bytes"], "bytes", "Its page images after a checkpoint"),
    ):
        yield _measured(name, value, unit, text, TRAFFIC)
