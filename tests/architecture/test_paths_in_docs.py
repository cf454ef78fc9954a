"""The pages that follow a request through the code name functions that are in these files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("the-path-of-a-*.md"))
_FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|sql))`")
_FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
_NAME = re.compile(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`")


def steps() -> list[tuple[str, str]]:
    """Each row of a table that names files, with its page."""
    return [
        (page.name, line)
        for page in PAGES
        for line in page.read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and (_FILE.search(line) or _FOLDER.search(line))
    ]


def test_both_pages_have_steps() -> None:
    assert {page for page, _ in steps()} == {"the-path-of-a-follow.md", "the-path-of-a-page.md"}


@pytest.mark.parametrize(("page", "step"), steps())
def test_the_names_in_a_step_are_in_its_files(page: str, step: str) -> None:
    files = [ROOT / name for name in _FILE.findall(step)]
    for name in _FOLDER.findall(step):
        files += (ROOT / name).rglob("*.py")
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    names = {part for name in _NAME.findall(step) for part in name.split(".")}
    missing = sorted(name for name in names if not re.search(rf"\b{name}\b", code))
    assert missing == [], page
