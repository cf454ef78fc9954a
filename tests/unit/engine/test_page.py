"""The code and the names in docs/engine.md are correct."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "engine.md").read_text(encoding="utf-8")
ENGINE = Path(__file__).parents[3] / "engine"


def test_the_example_has_the_result_that_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "engine_example.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("engine_example")
    users = [{"isEven": False, "followerCount": 10}, {"isEven": True, "followerCount": 20}]
    assert capsys.readouterr().out.strip() == str({"data": {"users": users}})


def test_the_page_lists_every_reason_to_leave_an_operation_to_graphql_core() -> None:
    code = "".join(path.read_text() for path in ENGINE.glob("*.py"))
    reasons = set(re.findall(r'(?:Unsupported|BailOut)\("(\w+)"[,)]|FAILED = "(\w+)"', code))
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Limitations")[2], re.M))
    assert named == {first or second for first, second in reasons}
