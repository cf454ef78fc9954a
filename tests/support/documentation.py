"""Read the examples, tables and snippets of the documentation's pages."""

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.gateway import Gateway

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_VIEWER = re.compile(r"# (?:sent by (?:(a service)|user (\d+))|without a viewer)\n")
_FILE = re.compile(r"(?://|#) ([\w./-]+\.\w+)\n")
_OUTCOME_COMMENT = re.compile(r"\boutcome\b[^#\n]*# ([A-Z_ ]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A document, and the data of the response that the page shows for it, if any."""

    document: str
    data: Any

    @property
    def asker(self) -> tuple[bool, int | None]:
        """Whether a service sends the document, and the viewer, if any."""
        asker = _VIEWER.match(self.document)
        assert asker, f"the first line must name the viewer: {self.document}"
        service, user = asker.groups()
        return bool(service), int(user) if user else None

    async def ask(self, gateway: Gateway, **variables: Any) -> Any:
        """Run the example and return the response."""
        of_service, user = self.asker
        asked = gateway.as_service if of_service else gateway
        return await asked.data(self.document, user, **variables)


def promised(document: str) -> list[str]:
    """The outcomes in the comments behind a document's `outcome` fields."""
    return " ".join(_OUTCOME_COMMENT.findall(document)).split()


def found(answer: Any, name: str) -> list[Any]:
    """The values of all fields of that name, in the order of the response."""
    if isinstance(answer, list):
        return [value for item in answer for value in found(item, name)]
    if not isinstance(answer, dict):
        return []
    own = [answer[name]] if name in answer else []
    return own + [value for item in answer.values() for value in found(item, name)]


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """The code that a page shows in one language."""
    return [code for of, code in _BLOCK.findall(page(name)) if of == language]


def snippets(name: str) -> dict[str, str]:
    """The files that a page shows: those whose first line is a comment with their name."""
    named = (_FILE.match(code) for _, code in _BLOCK.findall(page(name)))
    return {match[1]: match.string for match in named if match}


def examples(name: str) -> list[Example]:
    """All documents of a page, in its order."""
    found = [*_BLOCK.findall(page(name)), ("", "")]
    return [
        Example(code, json.loads(answer) if next_language == "json" else None)
        for (language, code), (next_language, answer) in pairwise(found)
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
