"""The examples and tables of docs/privacy.md, docs/relations.md and docs/relation-mask.md."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graph.edge import Flags, Kind
from graph.lists import ListKind
from graph.outcome import CHANGES
from graph.privacy import Audience, Privacy
from graph.relation_mask import RelationBits
from graph.visibility import ViewerRole, access
from schema.eligibility import ELIGIBILITIES
from storage.stores import Stores
from tests.support.documentation import blocks, examples, rows
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all

PAGES = ("privacy", "relations", "relation-mask")


@pytest.fixture
async def graph(stores: Stores) -> None:
    """User 1 is a friend of 2 by a close follow, blocks and mutes 3, and has a request from 4."""
    await edges(
        stores,
        {
            (1, 2): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
            (2, 1): Kind.FOLLOW,
            (1, 3): (Kind.BLOCK, Flags.MUTED),
            (4, 1): Kind.REQUEST,
        },
    )
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("name", PAGES)
async def test_the_examples_of_a_page_return_the_data_that_it_shows(
    name: str, gateway: Gateway
) -> None:
    with_data = 0
    for example in examples(name):
        data = await example.ask(gateway)
        assert data
        if example.data is not None:
            with_data += 1
            assert data == example.data
    assert with_data


def test_the_page_lists_which_viewer_may_open_a_list_of_each_audience() -> None:
    *audiences, protected = rows("privacy", "audience")
    assert [name for name, *_ in audiences] == [audience.name for audience in Audience]
    for name, *cells in audiences:
        privacy = Privacy(following=Audience[name])
        assert cells == _cells(privacy)
    assert protected[1:] == _cells(Privacy(protected=True))


def _cells(privacy: Privacy) -> list[str]:
    """The access of each viewer role to the list of followed users."""
    return [access(ListKind.FOLLOWING, privacy, viewer).value for viewer in ViewerRole]


def test_the_page_lists_all_codes_of_follow_eligibility() -> None:
    listed = {code: can for code, can, _ in rows("privacy", "code")}
    assert listed == {
        code.name: str(outcome in CHANGES).lower() for outcome, (code, _) in ELIGIBILITIES.items()
    }


def test_the_page_lists_every_bit_of_a_relation_mask() -> None:
    table = rows("relation-mask", "bit")
    assert [(int(bit), int(value)) for bit, value, *_ in table] == [
        (mark.value.bit_length() - 1, mark.value) for mark in RelationBits
    ]
    names = [re.sub(r"([A-Z])", r"_\1", name).upper() for _, _, name, _ in table]
    assert names == [mark.name for mark in RelationBits]


MASK: str = next(e for e in examples("relation-mask")).data["user"]["relationMask"]
RELATION_BITS = [
    RelationBits.FOLLOWING
    | RelationBits.FOLLOWED_BY
    | RelationBits.FRIENDS
    | RelationBits.CLOSE_FOLLOW,
    RelationBits.BLOCKING | RelationBits.MUTED,
    RelationBits.REQUESTED_BY,
    RelationBits.SELF,
    RelationBits(0),
]


def test_the_python_decoder_of_the_page_reads_a_mask() -> None:
    (code,) = blocks("relation-mask", "python")
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert list(scope["relations"](MASK)) == RELATION_BITS
    assert scope["relations"]("") == ()


def test_the_decoders_of_the_page_have_at_most_six_lines() -> None:
    for language in ("python", "typescript"):
        (code,) = blocks("relation-mask", language)
        assert len([line for line in code.splitlines() if line.strip()]) <= 6


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_typescript_decoder_of_the_page_reads_a_mask(tmp_path: Path) -> None:
    (code,) = blocks("relation-mask", "typescript")
    # Remove the types, because only newer versions of Node do that themselves.
    for types in (": string", ": number[]", ": unknown", ": number"):
        assert types in code
        code = code.replace(types, "")
    module = tmp_path / "relations.mjs"
    module.write_text(f"{code}\nconsole.log(JSON.stringify(relations({json.dumps(MASK)})));\n")
    ran = subprocess.run(
        ["node", str(module)], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(ran.stdout) == RELATION_BITS
