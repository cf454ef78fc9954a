"""The generated code that builds rows is cached, and the cache is bounded by its text."""

import pytest

from engine import codegen
from engine.cache import LruCache
from engine.codegen import object_builder


def test_the_same_selection_is_evaluated_once() -> None:
    keys = ("id", "count")
    assert object_builder(keys, {}) is object_builder(keys, {})
    assert object_builder(keys, {})(2, [1, 2], [3, 4]) == [
        {"id": 1, "count": 3},
        {"id": 2, "count": 4},
    ]


def test_long_aliases_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: LruCache[str, codegen.BuildObjects] = LruCache(
        entries=codegen.BUILDERS_MAX, weight=codegen.CHARACTERS_MAX
    )
    monkeypatch.setattr(codegen, "_builders", cache)
    for turn in range(100):
        object_builder(tuple(f"{'a' * 400}_{turn}_{index}" for index in range(100)), {})
    assert len(cache) <= codegen.CHARACTERS_MAX // 80_000
