"""Trusted documents: manifests of all documents that clients may run, read at the start.

Two formats, recognised by their content:

* Apollo's `generate-persisted-query-manifest`: an object with `format`, `version` and `operations`,
  each with `id`, `name` and `body`;
* Relay's `persistConfig.file` and graphql-codegen's `persisted-documents.json`: an object of
  documents by their ids, which are the MD5, SHA-1 or SHA-256 of the text.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gateway.graphql.document_ids import CHARS_MAX, document_id

FILE_BYTES_MAX = 20_000_000
FILES_MAX = 100
DOCUMENTS_MAX = 20_000
APOLLO_FORMAT = "apollo-persisted-query-manifest"

_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}
_HEX = re.compile(r"[0-9a-f]+")
_NAME = re.compile(r"\b(?:query|mutation|subscription)\s+([_A-Za-z][_0-9A-Za-z]*)")


class ManifestError(ValueError):
    """A manifest cannot be used. The text names the file, the document, and what to do."""


class TrustedDocument(NamedTuple):
    """One document of a manifest, and its file."""

    id: str
    text: str
    file: Path
    operation_name: str | None
    """The name in the manifest, if its format has one."""

    def __str__(self) -> str:
        named = _NAME.search(self.text)
        name = self.operation_name or (named[1] if named else "without a name")
        return f"{self.file}: the operation {name} (id {self.id})"


@dataclass(frozen=True, slots=True)
class TrustedDocuments:
    """All documents that may be run."""

    documents: tuple[TrustedDocument, ...]
    by_id: Mapping[str, str]
    """The text of each id. The SHA-256 of every text is also an id."""
    texts: frozenset[str]


def read_trusted_documents(path: Path) -> TrustedDocuments:
    """The documents of a manifest, or of all `*.json` files in a folder.

    Raises ManifestError.
    """
    found: dict[str, TrustedDocument] = {}
    for file in _files(path):
        for document in _documents(file):
            other = found.setdefault(document.id, document)
            if other.text != document.text:
                raise ManifestError(f"{document} has the id of another document: {other}.")
            if len(found) > DOCUMENTS_MAX:
                raise ManifestError(f"{path} holds more than {DOCUMENTS_MAX} documents.")
    if not found:
        raise ManifestError(
            f"{path} holds no documents, so every operation would be rejected. Add one."
        )
    digests = {_digest("sha256", one.text): one.text for one in found.values()}
    by_id = digests | {one.id: one.text for one in found.values()}
    return TrustedDocuments(tuple(found.values()), by_id, frozenset(digests.values()))


def _files(path: Path) -> list[Path]:
    """The manifests at a path, one at least. Raises ManifestError."""
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.json"))
    if not files:
        raise ManifestError(f"{path} is a folder without *.json files.")
    if len(files) > FILES_MAX:
        raise ManifestError(f"{path} holds {len(files)} manifests; at most {FILES_MAX} are read.")
    return files


def _documents(file: Path) -> Iterator[TrustedDocument]:
    """The documents of a manifest, with checked ids and texts. Raises ManifestError."""
    for listed_id, text, name in _entries(file, _parsed(file)):
        checked = document_id(listed_id)
        if checked is None:
            limit = f"an id has 1 to {CHARS_MAX} characters"
            raise ManifestError(f"{file} holds the id {str(listed_id)[:80]!r}; {limit}.")
        if not isinstance(text, str) or not text.strip():
            raise ManifestError(f"{file} holds no document under the id {listed_id!r}.")
        document = TrustedDocument(checked, text, file, name)
        _check_hash(document)
        yield document


def _entries(file: Path, manifest: object) -> Iterator[tuple[Any, Any, str | None]]:
    """(id, text, name) of each entry. The ids and texts are not checked yet."""
    if not isinstance(manifest, dict):
        raise _unknown_format(file)
    if "format" not in manifest and "operations" not in manifest:
        for listed_id, text in manifest.items():
            yield listed_id, text, None
        return
    operations = manifest.get("operations")
    if manifest.get("format") != APOLLO_FORMAT or manifest.get("version") != 1:
        raise _unknown_format(file)
    if not isinstance(operations, list):
        raise _unknown_format(file)
    bodies: dict[str, object] = {}
    for operation in operations:
        name = operation.get("name") if isinstance(operation, dict) else None
        if not isinstance(name, str):
            raise ManifestError(f"{file} holds an operation that is no object, or has no name.")
        body = operation.get("body")
        if bodies.setdefault(name, body) != body:
            raise ManifestError(f"{file} has two different operations of the name {name[:80]!r}.")
        yield operation.get("id"), body, name


def _parsed(file: Path) -> object:
    try:
        size = file.stat().st_size
        if size > FILE_BYTES_MAX:
            limit = f"a manifest has at most {FILE_BYTES_MAX}"
            raise ManifestError(f"{file} has {size} bytes; {limit}.")
        return json.loads(file.read_bytes(), object_pairs_hook=partial(_unique, file))
    except OSError as error:
        raise ManifestError(f"{file} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ManifestError(f"{file} is not JSON: {error}.") from None


def _unique(file: Path, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object. Rejects different values for one name, which parsers silently drop."""
    unique: dict[str, object] = {}
    for name, value in pairs:
        if unique.setdefault(name, value) != value:
            raise ManifestError(f"{file} has two different values for the key {name[:80]!r}.")
    return unique


def _check_hash(document: TrustedDocument) -> None:
    """Raise ManifestError if the id has the form of a hash, but is not that of the text."""
    algorithm = _HASHES.get(len(document.id))
    if algorithm is None or not _HEX.fullmatch(document.id):
        return  # an id that is not a hash
    digest = _digest(algorithm, document.text)
    if digest != document.id:
        raise ManifestError(
            f"{document} has an id that looks like a hash of its text, but the {algorithm} of that"
            f" is {digest}: make the manifest again with the tool that made it."
        )


def _digest(algorithm: str, text: str) -> str:
    return hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


def _unknown_format(file: Path) -> ManifestError:
    return ManifestError(
        f"{file} is not in the format of a known manifest: it must be an object of documents by"
        " their ids, as relay-compiler and graphql-codegen write it, or Apollo's format"
        f" {APOLLO_FORMAT!r}, version 1."
    )
