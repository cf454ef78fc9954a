"""The version of Kith. `pyproject.toml` and the image repeat it."""

VERSION = "0.1.0"
