"""The modules that a process imports at its start."""

import subprocess
import sys

import pytest

PRINT_MODULES = "import sys, {module}; print(*sorted(sys.modules))"


@pytest.mark.parametrize(
    "module",
    [
        "gateway.commands.verify",
        "gateway.commands.worker_config, workers.process",
        "gateway.commands.load",
        "storage.postgres.migrate",
    ],
)
def test_a_process_that_runs_no_graphql_does_not_import_it(module: str) -> None:
    """The import would take half of the time of the start."""
    argv = [sys.executable, "-c", PRINT_MODULES.format(module=module)]
    listed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    assert "storage" in listed
    assert not {"graphql", "strawberry", "engine", "schema"} & set(listed)
