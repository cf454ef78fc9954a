"""The pages of the documentation: what they show, and what they say that it answers."""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.gateway import Gateway

DOCS = Path(__file__).parents[1] / "docs"

_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_ASKER = re.compile(r"# asked by (?:(a service)|user (\d+)|(nobody))\n")


@dataclass(frozen=True)
class Example:
    """A document, who asks it, and the data that the page shows for it, if it does."""

    document: str
    data: Any

    async def ask(self, gateway: Gateway) -> Any:
        """What it answers."""
        asker = _ASKER.match(self.document)
        assert asker, f"nobody asks {self.document}"
        service, user, _ = asker.groups()
        asked = gateway.as_service if service else gateway
        return await asked.data(self.document, int(user) if user else None)


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The code that a page shows in one language."""
    return [code for of, code in _BLOCK.findall(page(name)) if of == language]


def examples(name: str) -> list[Example]:
    """All documents of a page, in its order."""
    found = [*_BLOCK.findall(page(name)), ("", "")]
    return [
        Example(code, json.loads(answer) if then == "json" else None)
        for (language, code), (then, answer) in pairwise(found)
        if language == "graphql"
    ]


def rows(name: str, first: str) -> list[list[str]]:
    """The cells of the table whose head begins with `first`, without the head."""
    lines = page(name).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table
