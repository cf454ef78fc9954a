"""The pages about browsers and persisted operations: commands run, tables are complete."""

import asyncio
import inspect
import json
import re
import shutil

import pytest

from gateway.graphql import documents
from gateway.http.browsers import REQUEST_HEADERS, RESPONSE_HEADERS, BrowserSettings, CrossOrigin
from storage.settings import StorageSettings
from tests.support.documentation import blocks, page, rows
from tests.support.live_gateway import live_gateway

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
CODE = re.compile(r'"((?:PERSISTED|TRUSTED)_[A-Z_]+)"')


async def printed(settings: StorageSettings, script: str) -> str:
    """The output of a page's commands with a gateway like that of `dev`."""
    browsers = BrowserSettings(headers=frozenset({"x-viewer"}), local=True)
    async with live_gateway(settings, browsers=browsers) as live:
        script = script.replace("http://localhost:8000/graphql", f"--noproxy '*' {live.http}")
        process = await asyncio.create_subprocess_exec(
            *("bash", "-euc", script), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


@needs_curl
async def test_the_commands_of_persisted_queries_answer_as_the_page_says(
    storage_settings: StorageSettings,
) -> None:
    (script,) = [code for code in blocks("persisted-operations", "sh") if "curl" in code]
    unknown, *answers = re.findall(r"\{.*?\}(?=\{|$)", await printed(storage_settings, script))
    assert json.loads(unknown)["errors"][0]["message"] == "PersistedQueryNotFound"
    assert list(map(json.loads, answers)) == [{"data": {"viewer": {"user": {"id": "1"}}}}] * 2


@needs_curl
async def test_the_preflight_of_the_page_is_answered(storage_settings: StorageSettings) -> None:
    (script,) = [code for code in blocks("browsers", "sh") if "curl" in code]
    said = (await printed(storage_settings, script)).lower()
    assert said.startswith("http/1.1 204")
    assert "access-control-allow-origin: http://localhost:5173\r\n" in said


def test_the_page_names_every_header() -> None:
    text = page("browsers").lower()
    for name in (*REQUEST_HEADERS, *RESPONSE_HEADERS):
        group = re.sub(r"^(x-b3|x-datadog)-.*", r"\1-*", name.lower())
        assert f"`{group}`" in text


def test_the_pages_name_every_code() -> None:
    result = {code.strip("`") for code, *_ in rows("persisted-operations", "code")}
    written = set(CODE.findall(inspect.getsource(documents)))
    assert result == written | {"BAD_REQUEST"}
    rejected = {code.strip("`") for code, *_ in rows("browsers", "rejected with 403 and")}
    assert rejected == set(re.findall(r'"([A-Z_]+_NOT_ALLOWED)"', inspect.getsource(CrossOrigin)))
    listed = page("clients")
    for code in result | rejected:
        assert f"`{code}`" in listed
