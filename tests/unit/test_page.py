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

# Few dates and users, so that many entries have equal dates and many windows end at an entry.
positions = st.builds(Position, st.integers(0, 5).map(Millis), st.integers(1, 5).map(UserId))
lists = st.lists(positions, unique=True, max_size=30)
windows = st.builds(
    Window,
    size=st.integers(0, 12),
    after=st.just(NEWEST) | positions,
    before=st.just(OLDEST) | positions,
    backward=st.booleans(),
)


def reference_page(entries: list[Position], window: Window) -> Page:
    """Sort newest first, drop entries up to `after` and from `before` on, and take `size` of them
    from one end."""
    left = sorted(entries)[::-1]
    if window.has_after:
        left = [entry for entry in left if entry < window.after]
    if window.has_before:
        left = [entry for entry in left if entry > window.before]
    kept = left[max(0, len(left) - window.size) :] if window.backward else left[: window.size]
    return Page(tuple(kept), more=len(kept) < len(left))


@given(entries=lists, window=windows)
def test_a_page_equals_the_reference(entries: list[Position], window: Window) -> None:
    assert cut(entries, window) == reference_page(entries, window)


@given(entries=lists, window=windows)
def test_a_page_needs_only_one_entry_more_than_its_size(
    entries: list[Position], window: Window
) -> None:
    inside = sorted(window.inside(entries), reverse=not window.backward)
    assert cut(inside[: window.size + 1], window) == cut(entries, window)


@given(entries=lists, size=st.integers(1, 5))
def test_successive_pages_in_either_direction_are_the_whole_list(
    entries: list[Position], size: int
) -> None:
    forward, window = [cut(entries, Window(size))], Window(size)
    while forward[-1].more:
        window = Window(size, after=forward[-1].entries[-1])
        forward.append(cut(entries, window))
    backward = [cut(entries, Window(size, backward=True))]
    while backward[-1].more:
        backward.append(cut(entries, Window(size, before=backward[-1].entries[0], backward=True)))
    whole = [entry for page in forward for entry in page.entries]
    assert whole == sorted(entries, reverse=True)
    assert whole == [entry for page in reversed(backward) for entry in page.entries]
    assert all(one > two for one, two in pairwise(whole))


def test_every_position_is_between_newest_and_oldest() -> None:
    first, last = Position(Millis(MAX_SINCE), UserId(2**63 - 1)), Position(Millis(0), UserId(1))
    assert NEWEST > first > last > OLDEST
    assert Window(1).inside([first])
    assert Window(1).inside([last])


def test_after_and_before_are_not_in_the_window() -> None:
    entry = Position(Millis(3), UserId(3))
    assert not Window(1, after=entry).inside([entry])
    assert not Window(1, before=entry).inside([entry])
    assert cut([entry], Window(1, after=entry)) == EMPTY_PAGE


def test_only_a_forward_window_without_cursors_is_at_the_head() -> None:
    entry = Position(Millis(3), UserId(3))
    assert Window(5).at_head
    assert not Window(5, after=entry).at_head
    assert not Window(5, before=entry).at_head
    assert not Window(5, backward=True).at_head


def test_a_page_of_size_0_tells_whether_there_are_entries() -> None:
    entry = Position(Millis(3), UserId(3))
    assert cut([entry], Window(0)) == Page((), more=True)
    assert cut([entry], Window(0, backward=True)) == Page((), more=True)
    assert cut([], Window(0)) == EMPTY_PAGE
