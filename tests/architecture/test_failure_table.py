"""The table of failures in docs/operations.md names a test for each, and all tested faults."""

import re
from fnmatch import fnmatchcase

from tests.support.documentation import DOCS
from tests.support.faults.catalogue import FAULTS

COLUMNS = 5


def rows() -> list[list[str]]:
    """The cells of the table's rows."""
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    section = page.partition("\n## Each failure\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names_in_the_table() -> list[str]:
    """The scenarios, as patterns, and the files in the last column."""
    return [name for row in rows() for name in re.findall(r"`([^`]+)`", row[-1])]


def test_each_failure_has_a_test_that_exists() -> None:
    assert len(rows()) > 10
    for row in rows():
        assert len(row) == COLUMNS
        assert "`" in row[-1], row
    for name in names_in_the_table():
        if name.startswith("tests/"):
            assert (DOCS.parent / name).is_file(), name
        else:
            assert any(fnmatchcase(fault, name) for fault in FAULTS), name


def test_each_scenario_is_in_the_table() -> None:
    patterns = names_in_the_table()
    missing = [fault for fault in FAULTS if not any(fnmatchcase(fault, name) for name in patterns)]
    assert missing == []
