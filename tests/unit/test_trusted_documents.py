"""The manifests of trusted documents: the formats that are read, and the errors."""

import json
from hashlib import md5, sha1, sha256
from pathlib import Path
from typing import Any

import pytest

from engine import Engine
from gateway.graphql.documents import require_valid
from gateway.graphql.trusted_documents import ManifestError, read_trusted_documents
from gateway.settings.config import read_config
from gateway.settings.environment import ConfigurationError
from tests.support.small_schema import schema

WHO = "query Who {\n  who\n}"
FOLLOW = "mutation Follow {\n  follow\n}"
SERVERS = {"DATABASE_URL": "postgresql://db/kith", "REDIS_URL": "redis://cache"}


def write(path: Path, manifest: object) -> Path:
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    path.write_text(text, encoding="utf-8")
    return path


def by_hash(*documents: str, algorithm: Any = sha256) -> dict[str, str]:
    return {algorithm(text.encode()).hexdigest(): text for text in documents}


def apollo(*documents: tuple[str, str], **others: object) -> dict[str, object]:
    operations = [
        {"id": sha256(body.encode()).hexdigest(), "name": name, "type": "query", "body": body}
        for name, body in documents
    ]
    manifest = {"format": "apollo-persisted-query-manifest", "version": 1}
    return {**manifest, "operations": operations, **others}


@pytest.mark.parametrize("algorithm", [md5, sha1, sha256])
def test_the_files_of_relay_and_graphql_codegen_are_read(tmp_path: Path, algorithm: Any) -> None:
    file = write(tmp_path / "persisted.json", by_hash(WHO, FOLLOW, algorithm=algorithm))
    trusted = read_trusted_documents(file)
    assert trusted.texts == {WHO, FOLLOW}
    for digest in (algorithm, sha256):
        assert trusted.by_id[digest(WHO.encode()).hexdigest()] == WHO
    require_valid(trusted, Engine(schema))


def test_the_manifest_of_apollo_is_read(tmp_path: Path) -> None:
    manifest = apollo(("Who", WHO), ("Follow", FOLLOW))
    trusted = read_trusted_documents(write(tmp_path / "manifest.json", manifest))
    assert set(trusted.by_id.values()) == {WHO, FOLLOW}
    require_valid(trusted, Engine(schema))


def test_all_manifests_of_a_folder_are_read_and_may_repeat_each_other(tmp_path: Path) -> None:
    write(tmp_path / "web.json", by_hash(WHO, algorithm=md5))
    write(tmp_path / "web-before.json", by_hash("query Who { who __typename }", WHO, algorithm=md5))
    write(tmp_path / "ios.json", apollo(("Follow", FOLLOW)))
    write(tmp_path / "notes.txt", "not a manifest")
    assert len(read_trusted_documents(tmp_path).texts) == 3


def test_an_id_that_is_not_a_hash_is_read(tmp_path: Path) -> None:
    trusted = read_trusted_documents(write(tmp_path / "a.json", {"web/who@1": WHO}))
    assert trusted.by_id["web/who@1"] == WHO


def test_a_document_of_several_operations_is_one_document(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", by_hash(WHO + FOLLOW))
    require_valid(read_trusted_documents(file), Engine(schema))


INVALID: dict[str, tuple[object, str]] = {
    "no JSON": ("{", "a.json is not JSON"),
    "not UTF-8": ('"\udcff"', "a.json is not JSON"),
    "deeply nested": ("[" * 100_000, "a.json is not JSON"),
    "no object": ([], "a.json is not in the format of a known manifest"),
    "another format": ({"format": "x", "version": 1, "operations": []}, "not in the format of"),
    "another version": (apollo(version=2), "not in the format of a known manifest"),
    "no list": (apollo(operations={}), "not in the format of a known manifest"),
    "no operation": (apollo(operations=[7]), "an operation that is no object, or has no name"),
    "no name": (apollo(operations=[{"id": "a", "body": WHO}]), "has no name"),
    "nothing": ({}, "holds no document"),
    "no text": ({"a": 7}, "holds no document under the id 'a'"),
    "an empty text": ({"a": " "}, "holds no document under the id 'a'"),
    "a long id": ({"a" * 257: WHO}, "an id has 1 to 256 characters"),
    "an empty id": ({"": WHO}, "an id has 1 to 256 characters"),
    "an id that is only a prefix": ({"sha256:": WHO}, "an id has 1 to 256 characters"),
    "a wrong MD5": ({"0" * 32: WHO}, "a.json: the operation Who .* md5 of that is"),
    "a wrong SHA-1": ({"0" * 40: WHO}, "a.json: the operation Who .* sha1 of that is"),
    "a wrong SHA-256": ({"0" * 64: WHO}, "a.json: the operation Who .* sha256 of that is"),
    "a wrong prefixed hash": ({"sha256:" + "0" * 64: WHO}, "sha256 of that is"),
    "an id twice": (f'{{"a": {json.dumps(WHO)}, "a": {json.dumps(FOLLOW)}}}', "the key 'a'"),
    "a name twice": (
        apollo(("Who", WHO), ("Who", "query Who { who __typename }")),
        "two different operations of the name 'Who'",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_the_error_for_an_invalid_manifest_names_the_file(tmp_path: Path, name: str) -> None:
    manifest, message = INVALID[name]
    file = tmp_path / "a.json"
    if isinstance(manifest, str):
        file.write_bytes(manifest.encode("utf-8", "surrogateescape"))
    else:
        write(file, manifest)
    for environ, path in (
        ({**SERVERS, "KITH_TRUSTED_DOCUMENTS": str(file)}, None),
        (SERVERS, file),
    ):
        with pytest.raises(ConfigurationError, match=f"^The trusted documents .*{message}"):
            read_config(tmp_path, "public", trusted_documents=path, environ=environ)


def test_spaces_use_the_documents_that_their_process_has_read(tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", {"one": WHO})
    config = read_config(tmp_path, "public", trusted_documents=file, environ=SERVERS)
    file.unlink()  # nor does a new file change the documents of spaces that are opened later
    space = config.for_space("shop", {"KITH_COST_LIMIT": "5000"})
    assert space.clients.documents.trusted is config.clients.documents.trusted
    assert space.clients.costs.limit == 5_000


def test_the_error_for_an_id_of_two_documents_names_both_files(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"one": WHO})
    write(tmp_path / "b.json", {"one": FOLLOW})
    with pytest.raises(ManifestError, match=r"b\.json: the operation Follow .*a\.json: .* Who"):
        read_trusted_documents(tmp_path)


def test_a_missing_or_too_large_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"none\.json cannot be read: No such file"):
        read_trusted_documents(tmp_path / "none.json")
    with pytest.raises(ManifestError, match=r"is a folder without \*\.json files"):
        read_trusted_documents(tmp_path)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(ManifestError, match=r"large\.json has 20000001 bytes"):
        read_trusted_documents(large)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (by_hash("query Other { missing }"), "Other .*Cannot query field 'missing'"),
        (by_hash("query Other {"), "Other .*Syntax Error"),
        (by_hash("fragment F on User { id }"), "without a name .*F"),
        (apollo(("Other", WHO)), "Other .*Unknown operation named 'Other'"),
    ],
)
def test_the_error_for_an_invalid_document_names_its_operation(
    tmp_path: Path, manifest: object, message: str
) -> None:
    trusted = read_trusted_documents(write(tmp_path / "a.json", manifest))
    with pytest.raises(ManifestError, match=rf"a\.json: the operation {message}"):
        require_valid(trusted, Engine(schema))
