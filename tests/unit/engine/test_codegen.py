"""The generated code that builds rows is cached, up to a total length."""

import pytest

from engine import codegen
from engine.cache import LruCache
from engine.codegen import object_builder


def test_the_code_of_equal_selections_is_compiled_once() -> None:
    keys = ("id", "count")
    assert object_builder(keys, {}) is object_builder(keys, {})
    assert object_builder(keys, {})(2, [1, 2], [3, 4]) == [
        {"id": 1, "count": 3},
        {"id": 2, "count": 4},
    ]


def test_the_total_length_of_the_cached_code_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: LruCache[str, codegen.BuildObjects] = LruCache(
        entries=codegen.BUILDERS_MAX, weight=codegen.CHARACTERS_MAX
    )
    monkeypatch.setattr(codegen, "_builders", cache)
    for number in range(100):
        object_builder(tuple(f"{'a' * 400}_{number}_{index}" for index in range(100)), {})
    assert len(cache) <= codegen.CHARACTERS_MAX // 80_000
