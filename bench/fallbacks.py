"""Counts operations that the engine left to graphql-core, from the gateway's metrics."""

import re
import urllib.request

_FALLBACKS = re.compile(
    r"^kith_engine_(?:delegated|bailed_out)_total\{.*\} ([0-9.e+]+)$", re.MULTILINE
)


def fallbacks(server_url: str) -> int:
    """The count of the process at this URL since its start, for all reasons."""
    with urllib.request.urlopen(f"{server_url}/metrics", timeout=5) as response:
        return counted(response.read().decode())


def counted(metrics: str) -> int:
    """The sum in the text of /metrics."""
    return round(sum(map(float, _FALLBACKS.findall(metrics))))
