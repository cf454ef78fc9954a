"""The local cache finds users who are requested often, and does not exceed its limits."""

import asyncio
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import UserId
from storage.cache.heavy_hitters import HeavyHitters
from storage.cache.local_copies import COPY_BYTES, Bounds, LocalCopies, Sized

WINDOW_S = 10.0


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


users = st.integers(1, 12).map(UserId)
steps = st.lists(st.tuples(users, st.sampled_from([0.0, 0.0, 0.1, 3.0])), max_size=120)


@given(steps, st.integers(1, 5), st.integers(1, 8))
def test_only_users_who_are_requested_often_are_hot(
    requests: list[tuple[UserId, float]], often: int, users_max: int
) -> None:
    clock = Clock()
    hitters = HeavyHitters(often, users_max, WINDOW_S, clock)
    since_hot: dict[UserId, list[float]] = {}
    for user, pause in requests:
        clock.now += pause
        times = since_hot.setdefault(user, [])
        times.append(clock.now)
        if hitters.count([user]):
            recent = [at for at in times if clock.now - at <= WINDOW_S]
            assert len(recent) >= often
            times.clear()
        assert len(hitters) <= users_max


@given(steps, st.integers(1, 5), st.integers(1, 30), st.integers(0, 120))
def test_a_user_with_2n_minus_1_requests_in_any_window_is_found(
    requests: list[tuple[UserId, float]], often: int, users_max: int, start: int
) -> None:
    """n is `often`, the number of requests after which a user is hot."""
    clock = Clock()
    hitters = HeavyHitters(often, users_max, WINDOW_S, clock)
    found: list[tuple[UserId, bool, float]] = []
    for user, pause in requests:
        clock.now += pause
        found.append((user, bool(hitters.count([user])), clock.now))
    began = found[start][2] if start < len(found) else 0.0
    window = [step for step in found[start : start + users_max] if step[2] - began < WINDOW_S]
    for user in {user for user, _, _ in window}:
        hot = [is_hot for requested, is_hot, _ in window if requested == user]
        assert any(hot) or len(hot) < 2 * often - 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "forget", "wait", "forget all"]),
            st.lists(users, min_size=1, max_size=6),
            st.integers(0, 3_000),
        ),
        max_size=40,
    )
)
def test_local_copies_never_exceed_their_limits(steps: list[tuple[str, list[UserId], int]]) -> None:
    bounds = Bounds(ttl_s=WINDOW_S, requests_to_copy=1, entries_max=5, bytes_max=5_000)
    clock = Clock()
    sizes: dict[UserId, int] = {}
    taken: dict[UserId, float] = {}

    async def read(users: Sequence[UserId]) -> Mapping[UserId, Sized[float]]:
        taken.update(dict.fromkeys(users, clock.now))
        return {user: Sized(clock.now, sizes[user]) for user in users}

    async def run_steps() -> None:
        values = LocalCopies(read, bounds, clock)
        for action, chosen, number in steps:
            if action == "ask":
                sizes.update(dict.fromkeys(chosen, number))
                copies = values.held(chosen)
                values.count_misses([user for user in chosen if user not in copies])
                await values.wait()
            elif action == "forget":
                values.forget(chosen[0])
                assert not values.held(chosen[:1])
            elif action == "wait":
                clock.now += number / 300
            else:
                values.forget_all()
                assert (len(values), values.size) == (0, 0)
            assert len(values) <= bounds.entries_max
            assert len(values) * COPY_BYTES <= values.size <= bounds.bytes_max
            for user, value in values.held(sizes).items():
                assert value == taken[user]
                assert clock.now - value < bounds.ttl_s

    asyncio.run(run_steps())
