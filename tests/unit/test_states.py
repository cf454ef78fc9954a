"""The page of states and actions follows from the rules."""

from pathlib import Path

from tests.support.relationship_states import page

PAGE = Path(__file__).parents[2] / "docs" / "relationship-states.md"


def test_the_page_of_states_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make states"
