"""`python -m gateway …`: see `gateway.cli`."""

from gateway.cli import app

app(prog_name="python -m gateway")
