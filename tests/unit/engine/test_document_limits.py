"""Documents are bounded before they are parsed, and each is parsed once, rejected or not."""

import asyncio
from dataclasses import replace
from random import Random

import pytest
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    Source,
    build_schema,
    parse,
    validate,
)

import engine.parsing
from engine import Engine, EngineSettings, RequestError
from engine.document_scan import scan
from engine.document_size import DocumentSize
from engine.turns import run_at_once
from engine.validation import NODES_PER_SLICE, RULES, validation
from tests.property.test_engine_equals_graphql_core import VALUES
from tests.support.random_operations import Operations
from tests.support.tree_schema import schema as tree_schema
from tests.support.zoo_schema import schema

NO_LIMITS = EngineSettings(max_aliases=10**6, max_directives=10**6, max_spreads=10**6)
HIGH_LIMITS = EngineSettings(max_errors=100, max_merge_steps=1_000_000)

TOO_LARGE = {
    "tokens": "{ now " + "@skip(if: false) " * 4_000 + "}",
    "comments": "#\n" * 40_000 + "{ now }",
    "has 1,001 fields": "{" + " now" * 1_001 + "}",
    "has 201 aliases": "{" + " ".join(f"a{n}: now" for n in range(201)) + "}",
    "has 201 directives": "{" + " now @skip(if: true)" * 201 + "}",
    "has 101 fragments": "{ now }" + " fragment F on Query { now }" * 101,
    "spreads 201 fragments": "{" + " ...F" * 201 + "} fragment F on Query { now }",
    "has 51 operations": " ".join(f"query Q{n} {{ now }}" for n in range(51)),
    "has a name of 501 characters": "{ " + "a" * 501 + ": now }",
    "has 20,001 characters in strings": '{ now(text: "' + "\\n" * 9_999 + '!") }',
    "has 20,006 characters in strings": "#" + "x" * 19_999 + '\n{ now(text: "text") }',
    "characters": "{ now " + " " * 100_000 + "}",
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    texts: list[str] = []

    def recording(source: Source) -> DocumentNode:
        texts.append(source.body)
        return parse(source)

    monkeypatch.setattr(engine.parsing, "parse", recording)
    return texts


@pytest.mark.parametrize("reason", TOO_LARGE)
def test_a_document_that_is_too_large_is_not_parsed(reason: str, parsed: list[str]) -> None:
    with pytest.raises(RequestError) as caught:
        Engine(tree_schema).prepare(TOO_LARGE[reason])
    assert any(reason in error.message for error in caught.value.errors)
    assert parsed == []


@pytest.mark.parametrize(
    "text",
    [
        '{ now(text: """ { { { " \\""" : ... @ """) }',
        '{ now(text: "{ : ... @ fragment \\" { ", other: {a: 1, b: {c: 2}}) }',
        "# { : ... @\n{ now ... on Query { now } ... @skip(if: true) { now } ... { now } }",
        "query Q($a: [Int!]! = [1]) { now }",
        '{ now(text: "an unterminated string',
        '{ now(text: """an unterminated \\""" block',
    ],
)
def test_strings_comments_arguments_and_inline_fragments_are_not_counted(text: str) -> None:
    strict = EngineSettings(
        max_aliases=0,
        max_spreads=0,
        max_directives=1,
        max_fragments=0,
        max_operations=1,
    )
    scan(text, strict)


def test_the_scan_counts_the_fields_of_a_document() -> None:
    """It counts as many as the parsed document has."""
    operations = Operations(schema._schema, VALUES)
    texts = [operations.draw(Random(seed)).query for seed in range(200)]
    texts += [
        "{ on: now on ... on Query { on now } ... @skip(if: true) { on } } fragment F on on { on }",
        "query ($a: [Int!]! = [1]) @live { a: now(b: {c: [d, $a]}) @skip(if: $a) ...F ... {b} }",
    ]
    for text in texts:
        fields = DocumentSize(parse(text)).fields
        scan(text, replace(NO_LIMITS, max_fields=fields))
        with pytest.raises(RequestError):
            scan(text, replace(NO_LIMITS, max_fields=fields - 1))


@pytest.mark.parametrize("text", ["{ missing }", "{ now", TOO_LARGE["has 101 fragments"]])
async def test_a_rejected_document_is_parsed_once(text: str, parsed: list[str]) -> None:
    engine = Engine(tree_schema)
    first, second = [(await engine.execute(query=text)) for _ in range(2)]
    assert len(parsed) <= 1
    assert first.response() == second.response()
    assert first.is_request_error
    with pytest.raises(RequestError):
        engine.cached_operation(text)


@pytest.mark.parametrize(
    "text",
    ["{{ {}: now }}", "{{ {} }}", "query {} {{ now }}", "query Q(${}: Int) {{ now }}"],
)
def test_the_length_of_every_name_is_limited(text: str) -> None:
    scan(text.format("a" * 500), EngineSettings())
    with pytest.raises(RequestError) as caught:
        scan(text.format("a" * 501), EngineSettings())
    assert caught.value.errors[0].extensions == {"code": "DOCUMENT_LIMIT_EXCEEDED"}


def test_validation_stops_when_its_messages_are_long() -> None:
    # The message of each error contains the whole literal.
    fields = " ".join(f"missing{number}: 1" for number in range(400))
    document = parse(f"{{ search(filter: {{{fields}}}) {{ id }} }}")
    with pytest.raises(RequestError) as caught:
        run_at_once(validation(build_schema(FILTERED), document, EngineSettings()))
    first, aborted = caught.value.errors
    assert "unknown field 'missing0'" in first.message
    assert "Validation aborted" in aborted.message


FILTERED = """
input Filter { name: String }
type Result { id: ID! }
type Query { search(filter: Filter): [Result] }
"""


def test_a_string_may_be_longer_than_a_name() -> None:
    scan('{ now(text: "' + "a" * 501 + '", number: ' + "1" * 501 + ") }", EngineSettings())


async def test_the_errors_of_a_rejected_document_do_not_refer_to_its_nodes() -> None:
    result = await Engine(tree_schema).execute(query="{ missing }")
    assert [error.nodes for error in result.errors] == [None]
    assert [error.locations for error in result.errors] == [[(1, 3)]]


async def test_the_cache_of_rejected_documents_is_limited_by_their_length(
    parsed: list[str],
) -> None:
    texts = [f"{{ missing{number} }}" for number in range(3)]
    engine = Engine(tree_schema, EngineSettings(cached_characters=2 * len(texts[0])))
    for text in (*texts, texts[2], texts[0]):
        await engine.execute(query=text)
    assert parsed == [*texts, texts[0]]


async def test_a_document_in_many_concurrent_requests_is_parsed_once(parsed: list[str]) -> None:
    engine = Engine(tree_schema)
    tasks = [asyncio.create_task(engine.execute(query="{ now }", context=[])) for _ in range(10)]
    await asyncio.sleep(0)
    tasks[0].cancel()  # the others do not depend on the first one
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert not any(isinstance(result, BaseException) for result in results[1:])
    assert parsed == ["{ now }"]


async def test_a_long_document_is_validated_in_several_turns() -> None:
    engine = Engine(tree_schema)
    await engine.execute(query="{ tree {" + " number" * 10 + "} }", context=[])
    short = engine.turns.taken
    fields = " ".join(f"a{n}: number" for n in range(NODES_PER_SLICE))  # three nodes each
    await engine.execute(query="{ tree {" + fields + "} }", context=[])
    assert engine.turns.taken - short >= short + 3


def test_validation_finds_the_errors_of_graphql_core() -> None:
    operations = Operations(schema._schema, VALUES)
    invalid = 0
    for seed in range(300):
        random = Random(seed)
        text = operations.draw(random).query
        if seed % 2:  # break it
            words = text.split(" ")
            words[random.randrange(len(words))] = random.choice(("id", "$x", "...Z", "@odd", "9"))
            text = " ".join(words)
        try:
            document = parse(text)
        except GraphQLError:
            continue
        expected = validate(schema._schema, document, RULES)
        invalid += bool(expected)
        assert _errors(document) == [(error.message, error.locations) for error in expected]
    assert invalid > 30


VARIABLES = """
type Query { now(text: String, list: [String], number: Int): Query at: Int }
"""


@pytest.mark.parametrize(
    "text",
    [
        '{ now(text: "$x") { at } }',
        "query ($a: String) { now { at } }",
        "query ($a: String) { now(text: $a) { at } other: now(text: $b) { at } }",
        "query ($a: Int!) { now(text: $a) { at } }",
        "query ($a: String) { now(list: [$a, $b]) { at } }",
        "query ($a: Boolean!) { now { at @skip(if: $a) } }",
        "query ($a: Boolean!) { now { ... @include(if: $a) { at @skip(if: $c) } } }",
        "query ($a: String) { now { ...F } } fragment F on Query { now(text: $a) { at } }",
        "query ($a: Int) { ...F } fragment F on Query { at now(text: $a) { now(text: $b) } }",
        "query A($a: Int) { ...F } query B { ...F } fragment F on Query { now(text: $a) { at } }",
        "query @odd(x: $b) { at }",
        "fragment F on Query { now(text: $a) { at } }",
        "{ now { now { now(number: $deep) { at } } } }",
    ],
)
def test_the_errors_of_variables_are_those_of_graphql_core(text: str) -> None:
    document, variables_schema = parse(text), build_schema(VARIABLES)
    expected = validate(variables_schema, document, RULES)
    assert _errors(document, variables_schema) == [(one.message, one.locations) for one in expected]


def test_validation_does_not_hash_nodes_with_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of a node covers all nodes below it, and is not cached."""
    hashed: list[str] = []
    for kind in (OperationDefinitionNode, SelectionSetNode, FragmentDefinitionNode):

        def counted(node: Node) -> int:
            hashed.append(node.kind)
            return id(node)

        monkeypatch.setattr(kind, "__hash__", counted)
    text = "query ($a: String) { now(text: $a) { ...F } } fragment F on Query { now { at } }"
    assert _errors(parse(text), build_schema(VARIABLES)) == []
    assert hashed == []


def _errors(
    document: DocumentNode, for_schema: GraphQLSchema = schema._schema
) -> list[tuple[str, object]]:
    try:
        run_at_once(validation(for_schema, document, HIGH_LIMITS))
    except RequestError as rejected:
        return [(error.message, error.locations) for error in rejected.errors]
    return []
