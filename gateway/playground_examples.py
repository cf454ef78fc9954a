"""The examples of the playground: documents with operations, by topic."""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

SOURCE = Path(__file__).parent / "playground" / "examples.graphql"
SERVICE_TOPIC = "As a service"
_HEAD = re.compile(r"^#--- (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Example:
    """One document with related operations, and its topic in the list of examples."""

    topic: str
    document: str

    @property
    def as_service(self) -> bool:
        """Whether its operations need a service's token."""
        return self.topic == SERVICE_TOPIC


@cache
def examples() -> tuple[Example, ...]:
    """All examples, in the order of the file."""
    _, *parts = _HEAD.split(SOURCE.read_text(encoding="utf-8"))
    return tuple(
        Example(topic, document.strip() + "\n")
        for topic, document in zip(parts[::2], parts[1::2], strict=True)
    )


@cache
def version() -> str:
    """A digest of the examples. Browsers drop the tabs that they stored for another version."""
    return sha256("".join(example.document for example in examples()).encode()).hexdigest()[:16]
