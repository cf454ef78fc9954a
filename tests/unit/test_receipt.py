"""The names of receipts: what is no token names none, and equal requests have equal digests."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import Kind
from graph.receipt import digest_of, keyed_id, read_undo_token, undo_token


@given(receipt_id=st.uuids())
def test_a_token_names_its_receipt(receipt_id: UUID) -> None:
    assert read_undo_token(undo_token(receipt_id)) == receipt_id


@given(text=st.text(max_size=30) | st.text("AZaz09-_+/= ", min_size=22, max_size=22))
def test_a_receipt_has_one_token(text: str) -> None:
    named = read_undo_token(text)
    assert named is None or undo_token(named) == text


def test_a_key_names_one_receipt() -> None:
    assert keyed_id("a") == keyed_id("a") != keyed_id("b")


def test_different_requests_have_different_digests() -> None:
    said = ["follow", 2, Kind.FOLLOW, "12", ("1", "2"), None, False]
    assert len({digest_of("x", one) for one in said}) == len(said)
    assert digest_of("a", "b") != digest_of("ab") != digest_of("a, b")
