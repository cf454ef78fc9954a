"""Rates that several parts of a plan need, per second, and the number of users."""

from gateway.capacity.inputs import Inputs


def users(inputs: Inputs) -> float:
    """The number of users who have edges."""
    return inputs["edges"] / inputs["edges_per_user"]


def check_requests(inputs: Inputs) -> float:
    """Requests with checks, a second."""
    return inputs["checks"] / inputs["ids_per_check_request"]


def reads(inputs: Inputs) -> float:
    """Requests that read, a second: pages, and requests with checks."""
    return inputs["lists"] + check_requests(inputs)


def misses(inputs: Inputs) -> float:
    """Reads that PostgreSQL answers, a second."""
    return reads(inputs) * (1 - inputs["hits"])


def cpu_s(inputs: Inputs, process: str) -> float:
    """CPU seconds a second that a kind of process uses for cached reads, misses and writes."""
    cached = inputs["hits"] * (
        inputs["lists"] * inputs[f"page_{process}_us"]
        + check_requests(inputs) * inputs[f"check_{process}_us"]
    )
    missed = misses(inputs) * inputs[f"miss_{process}_us"]
    return (cached + missed + inputs["writes"] * inputs[f"write_{process}_us"]) / 1e6
