"""The documentation: its links and file names exist, and its index is complete."""

import re
from pathlib import Path

import pytest
from graphql import OperationDefinitionNode, parse

from gateway.playground_examples import examples

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
INDEX = ROOT / "docs" / "README.md"

_CODE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"`([a-z]\w*/[\w./-]*\w\.(?:py|sql|lua|md))`")
_HEAD = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[tuple[Path, str]]:
    """(file, anchor) of every link to this checkout."""
    targets = [link for link in _LINK.findall(prose(page)) if "://" not in link]
    parts = [target.partition("#") for target in targets]
    return [((page.parent / file).resolve() if file else page, anchor) for file, _, anchor in parts]


def anchors(page: Path) -> set[str]:
    """The anchors of all headlines, in the form that GitHub generates."""
    heads = _HEAD.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_headline_that_exist(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), file
        assert not anchor or anchor in anchors(file), f"{file}#{anchor}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent != ROOT],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    missing = [file for file in _FILE.findall(prose(page)) if not (ROOT / file).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped_at_100_columns(page: Path) -> None:
    """Except for tables, images and generated pages."""
    if page.name == "settings.md":
        return
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "![", "<"))]
    assert [line for line in lines if len(line) > 100] == []


def test_the_files_in_the_guide_for_contributors_exist() -> None:
    guide = prose(ROOT / "CONTRIBUTING.md")
    named = re.findall(r"`((?:\w+/)+(?:[\w.]+)?)`", guide)
    assert len(named) > 30
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_index_links_every_page() -> None:
    linked = {file for file, _ in links(INDEX)}
    assert linked >= set((ROOT / "docs").glob("*.md")) - {INDEX}


def test_the_index_names_every_example() -> None:
    rows = [row.split("|")[3] for row in prose(INDEX).splitlines() if row.count("|") == 4]
    named = {title.strip() for row in rows[2:] for title in row.split(",")}
    assert named == {_title(example.document) for example in examples()}


def _title(document: str) -> str:
    """The title of an example: the name of its first operation."""
    first = parse(document).definitions[0]
    assert isinstance(first, OperationDefinitionNode)
    assert first.name is not None
    return first.name.value
