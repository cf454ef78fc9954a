"""Receipts: their undo tokens, their ids from idempotency keys, and digests of requests."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import Kind
from graph.receipt import digest_of, keyed_id, read_undo_token, undo_token


@given(receipt_id=st.uuids())
def test_an_undo_token_returns_the_id_of_its_receipt(receipt_id: UUID) -> None:
    assert read_undo_token(undo_token(receipt_id)) == receipt_id


@given(text=st.text(max_size=30) | st.text("AZaz09-_+/= ", min_size=22, max_size=22))
def test_only_one_text_is_the_undo_token_of_a_receipt(text: str) -> None:
    receipt_id = read_undo_token(text)
    assert receipt_id is None or undo_token(receipt_id) == text


def test_an_idempotency_key_has_one_receipt_id() -> None:
    assert keyed_id("a") == keyed_id("a") != keyed_id("b")


def test_different_requests_have_different_digests() -> None:
    requests = ["follow", 2, Kind.FOLLOW, "12", ("1", "2"), None, False]
    assert len({digest_of("x", one) for one in requests}) == len(requests)
    assert digest_of("a", "b") != digest_of("ab") != digest_of("a, b")
