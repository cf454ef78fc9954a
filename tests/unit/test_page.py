"""A page equals the result of a plain implementation of Relay's rules."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import MAX_SINCE, Millis, UserId
from graph.page import (
    EMPTY_PAGE,
    NEWEST,
    OLDEST,
    Page,
    Position,
    Window,
    cut,
)

# Few dates and few users, so that many stand at the same date, and windows end on entries.
positions = st.builds(Position, st.integers(0, 5).map(Millis), st.integers(1, 5).map(UserId))
lists = st.lists(positions, unique=True, max_size=30)
windows = st.builds(
    Window,
    size=st.integers(0, 12),
    after=st.just(NEWEST) | positions,
    before=st.just(OLDEST) | positions,
    backward=st.booleans(),
)


def naive(entries: list[Position], window: Window) -> Page:
    """Newest first; drop up to `after`, drop from `before` on; then `size` from one end."""
    left = sorted(entries)[::-1]
    if window.has_after:
        left = [entry for entry in left if entry < window.after]
    if window.has_before:
        left = [entry for entry in left if entry > window.before]
    kept = left[max(0, len(left) - window.size) :] if window.backward else left[: window.size]
    return Page(tuple(kept), more=len(kept) < len(left))


@given(entries=lists, window=windows)
def test_a_page_is_what_relay_says(entries: list[Position], window: Window) -> None:
    assert cut(entries, window) == naive(entries, window)


@given(entries=lists, window=windows)
def test_one_entry_more_than_the_size_is_enough_to_know(
    entries: list[Position], window: Window
) -> None:
    inside = sorted(window.inside(entries), reverse=not window.backward)
    assert cut(inside[: window.size + 1], window) == cut(entries, window)


@given(entries=lists, size=st.integers(1, 5))
def test_pages_in_a_row_are_the_list(entries: list[Position], size: int) -> None:
    ahead, window = [cut(entries, Window(size))], Window(size)
    while ahead[-1].more:
        window = Window(size, after=ahead[-1].entries[-1])
        ahead.append(cut(entries, window))
    behind = [cut(entries, Window(size, backward=True))]
    while behind[-1].more:
        behind.append(cut(entries, Window(size, before=behind[-1].entries[0], backward=True)))
    whole = [entry for page in ahead for entry in page.entries]
    assert whole == sorted(entries, reverse=True)
    assert whole == [entry for page in reversed(behind) for entry in page.entries]
    assert all(one > two for one, two in pairwise(whole))


def test_every_entry_lies_between_the_ends() -> None:
    first, last = Position(Millis(MAX_SINCE), UserId(2**63 - 1)), Position(Millis(0), UserId(1))
    assert NEWEST > first > last > OLDEST
    assert Window(1).inside([first])
    assert Window(1).inside([last])


def test_the_ends_of_a_window_are_outside_it() -> None:
    entry = Position(Millis(3), UserId(3))
    assert not Window(1, after=entry).inside([entry])
    assert not Window(1, before=entry).inside([entry])
    assert cut([entry], Window(1, after=entry)) == EMPTY_PAGE


def test_only_the_first_page_is_at_the_head() -> None:
    entry = Position(Millis(3), UserId(3))
    assert Window(5).at_head
    assert not Window(5, after=entry).at_head
    assert not Window(5, before=entry).at_head
    assert not Window(5, backward=True).at_head


def test_a_page_of_no_size_says_whether_there_is_anything() -> None:
    entry = Position(Millis(3), UserId(3))
    assert cut([entry], Window(0)) == Page((), more=True)
    assert cut([entry], Window(0, backward=True)) == Page((), more=True)
    assert cut([], Window(0)) == EMPTY_PAGE
