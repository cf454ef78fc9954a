"""The example service decodes masks as Kith writes them."""

import runpy
from pathlib import Path

from graph.edge import Flags, Kind
from graph.relation import SELF, STRANGERS, kinds_of
from graph.relation_mask import RelationBits, write_mask

MODULE = runpy.run_path(
    str(Path(__file__).parents[2] / "examples" / "service" / "backend" / "relation_mask.py")
)


def test_the_bits_of_the_example_have_the_names_that_kith_uses() -> None:
    assert {bit.name: bit.value for bit in MODULE["RelationBits"]} == {
        mark.name: mark.value for mark in RelationBits
    }


def test_a_mask_that_kith_writes_is_decoded() -> None:
    friends = kinds_of(Kind.FOLLOW, Kind.FOLLOW, Flags.MUTED)
    masks = MODULE["decoded"](write_mask([friends, STRANGERS.kinds, SELF.kinds]))
    assert [bits.names for bits in masks] == [
        ("FOLLOWING", "FOLLOWED_BY", "FRIENDS", "MUTED"),
        (),
        ("SELF",),
    ]


def test_an_unknown_bit_is_kept_and_has_no_name() -> None:
    (bits,) = MODULE["decoded"]("AYA=")
    assert bits.names == ("FOLLOWING",)
    assert int(bits) == 0x8001
