"""Rates that several parts of a plan need, per second, and the number of users."""

from gateway.capacity.inputs import Inputs


def users(given: Inputs) -> float:
    """The number of users who have edges."""
    return given["edges"] / given["edges_per_user"]


def check_requests(given: Inputs) -> float:
    """Requests with checks, a second."""
    return given["checks"] / given["ids_per_check_request"]


def reads(given: Inputs) -> float:
    """Requests that read, a second: pages, and requests with checks."""
    return given["lists"] + check_requests(given)


def misses(given: Inputs) -> float:
    """Reads that PostgreSQL answers, a second."""
    return reads(given) * (1 - given["hits"])


def cpu_s(given: Inputs, process: str) -> float:
    """CPU seconds a second that a kind of process uses for cached reads, misses and writes."""
    cached = given["hits"] * (
        given["lists"] * given[f"page_{process}_us"]
        + check_requests(given) * given[f"check_{process}_us"]
    )
    missed = misses(given) * given[f"miss_{process}_us"]
    return (cached + missed + given["writes"] * given[f"write_{process}_us"]) / 1e6
