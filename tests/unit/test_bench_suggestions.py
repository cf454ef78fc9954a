"""The benchmark of suggestions hides follows, and counts those that a method finds."""

import gzip
from pathlib import Path

import pytest

from bench.suggestion_data import HIDDEN, Split, read_split
from bench.suggestion_figures import interval
from bench.suggestion_methods import METHODS, best
from bench.suggestion_transfer import GRID, best_of, transfer, transfer_table
from bench.suggestions import measure
from graph.edge import UserId
from graph.suggestion import CHOSEN

ALL_USERS = [UserId(user) for user in range(1, 41)]


def split_of(hidden: dict[int, set[int]]) -> Split:
    """40 users who all follow each other, except for the hidden follows."""
    following = {
        user: [
            other for other in ALL_USERS if other != user and other not in hidden.get(user, set())
        ]
        for user in ALL_USERS
    }
    followers = {
        user: [other for other in ALL_USERS if user in following[other]] for user in ALL_USERS
    }
    return Split(
        "complete",
        following,
        followers,
        {UserId(user): {UserId(one) for one in others} for user, others in hidden.items()},
        {},
    )


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_each_method_finds_the_hidden_follows(method: object) -> None:
    split = split_of({1: {2, 3}})
    figures = measure(split, method, [UserId(1)], [UserId(1)])  # type: ignore[arg-type]
    assert figures.precision.mean == pytest.approx(0.2)
    assert figures.hit_rate.mean == 1
    assert figures.reciprocal_rank.mean == 1
    assert figures.coverage == 2


def test_users_who_are_or_were_followed_are_not_suggested() -> None:
    split = Split("small", {UserId(1): [UserId(2)]}, {}, {}, {UserId(1): {UserId(3)}})
    scores = {UserId(user): float(user) for user in range(1, 6)}
    assert best(split, UserId(1), scores) == [5, 4]


def test_a_log_is_replayed_and_the_last_tenth_of_each_user_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / "events.csv.gz"
    rows = [f"{moment},follow,1,{moment + 1}" for moment in range(1, 22)]
    rows.append("30,unfollow,1,22")
    with gzip.open(path, "wt") as file:
        file.write("\n".join(["created_at_ms,op,from_user_id,to_user_id", *rows]))
    split = read_split(path)
    assert split.hidden == {1: {20, 21}}
    assert split.following_of(UserId(1)) == [UserId(user) for user in range(19, 1, -1)]
    assert split.ended == {1: {22}}
    assert len(split.hidden[UserId(1)]) == HIDDEN * 20


def test_a_confidence_interval_contains_the_mean() -> None:
    figures = interval([0.0, 1.0] * 50)
    assert figures.low < figures.mean == 0.5 < figures.high


def test_the_best_weights_depend_on_the_given_graphs_only() -> None:
    first, second, third = GRID[:3]
    scores_of_graphs = {first: [9.0, 1.0, 1.0], second: [1.0, 3.0, 10.0], third: [2.0, 4.0, 4.0]}
    assert best_of(scores_of_graphs, [1, 2]) == second
    assert best_of(scores_of_graphs, [0, 1]) == first
    assert best_of(scores_of_graphs, [0, 2]) == second


def test_each_graph_is_left_out_in_turn() -> None:
    assert CHOSEN in GRID
    splits = [split_of({1: {2, 3}, 2: {5}}), split_of({4: {5, 6}, 6: {9}})]
    rows = transfer(splits, 2)
    assert [row.graph for row in rows] == ["complete", "complete"]
    assert all(row.parameters in GRID for row in rows)
    assert all(0.1 <= row.unseen.mean <= 0.2 for row in rows)
    assert transfer_table(rows).count("\n") == 3
