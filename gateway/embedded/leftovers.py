"""The record of a run's children, and ending orphans: children whose supervisor has died."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from gateway.embedded.process import Identity, Step, end
from gateway.embedded.state import read_json, write_json


@dataclass(frozen=True, slots=True)
class Recorded:
    """A child in the record."""

    identity: Identity
    stop: tuple[Step, ...]


def record(file: Path, supervisor: Identity, children: Iterable[Recorded]) -> None:
    """Replace the record. `children` are in the order in which they were started."""
    write_json(
        file,
        {"supervisor": asdict(supervisor), "children": [asdict(child) for child in children]},
    )


async def end_leftovers(file: Path, supervisor: Identity | None = None) -> None:
    """End the recorded children that are still alive, the last one started first.

    With `supervisor`, only if the record is that supervisor's: a newer one may have replaced it.
    """
    found = read_json(file)
    if supervisor is not None and found.get("supervisor") != asdict(supervisor):
        return
    children = found.get("children")
    for child in reversed(children if isinstance(children, list) else []):
        recorded = _parse(child)
        if recorded is not None:
            await end(recorded.identity, recorded.stop)


def _parse(child: object) -> Recorded | None:
    match child:
        case {"identity": {"pid": int(pid), "started": str(started)}, "stop": list(steps)}:
            stop = tuple(Step(step["signum"], step["wait_ms"]) for step in steps)
            return Recorded(Identity(pid, started), stop)
    return None
