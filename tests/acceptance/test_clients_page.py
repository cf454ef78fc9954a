"""The queries in docs/clients.md run as printed, and the page lists the configured limits."""

import pytest

from engine import EngineSettings
from gateway.graphql.document_ids import CHARS_MAX
from gateway.graphql.settings import HttpLimits
from gateway.graphql.socket_messages import FIRST_MESSAGE_CHARS_MAX
from gateway.http.accept import HEADER_CHARS_MAX, ITEMS_MAX
from graph.edge import Kind
from resolvers.policy import Policy
from schema.mutations.payload import CLIENT_MUTATION_ID_CHARS_MAX
from storage.stores import Stores
from tests.support.documentation import examples, found, page, promised, rows
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.relationships import protect


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Four users follow user 1, who follows 5. User 5 follows 4 and blocks two users. Three users
    ask to follow user 8."""
    await follows(stores, (2, 1), (3, 1), (4, 1), (5, 1), (1, 5), (5, 4))
    for blocked in (6, 7):
        await edges(stores, {(5, blocked): Kind.BLOCK})
    await protect(stores, 8)
    await edges(stores, {(requester, 8): Kind.REQUEST for requester in (2, 3, 4)})
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_every_example_returns_what_the_page_shows(gateway: Gateway) -> None:
    page_examples = examples("clients")
    assert len(page_examples) == 8
    for example in page_examples:
        data = await example.ask(gateway)
        assert example.data in (None, data), example.document
        assert found(data, "outcome") == promised(example.document)


def test_the_page_lists_the_limits() -> None:
    policy, engine = Policy(), EngineSettings()
    assert f"(default: {policy.page_default})" in page("clients")
    listed = [int(limit.replace(",", "")) for _, limit in rows("clients", "what")]
    assert listed == [
        policy.page_max,
        policy.users_max,
        policy.relations_max,
        policy.entities_max,
        policy.pairs_max,
        policy.changes_max,
        policy.interactions_max,
        policy.live_relations_max,
        CLIENT_MUTATION_ID_CHARS_MAX,
        engine.max_fields,
        engine.max_depth,
        engine.max_aliases,
        engine.max_spreads,
        engine.max_fragments,
        engine.max_directives,
        engine.max_operations,
        engine.max_introspections,
        engine.max_comparisons,
        engine.max_merge_steps,
        engine.max_coerced_values,
        engine.max_subscription_characters,
        FIRST_MESSAGE_CHARS_MAX,
        engine.max_characters,
        engine.max_literal_characters,
        engine.max_tokens,
        engine.max_comments,
        engine.max_name_characters,
        HEADER_CHARS_MAX,
        ITEMS_MAX,
        CHARS_MAX,
        HttpLimits().body_bytes_max,
        engine.max_rows,
        engine.max_field_errors,
        engine.max_bytes,
    ]
