"""The metrics of a gateway in this process, whose counters earlier tests have increased."""

import re

import httpx


async def sample(http: httpx.AsyncClient, name: str, url: str = "/metrics") -> float:
    """The value of a sample, which is named with its labels; 0 if there is none yet."""
    text = (await http.get(url)).text
    found = re.search(rf"^{re.escape(name)} (.+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0
