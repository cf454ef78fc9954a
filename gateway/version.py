"""The version of Kith, which `pyproject.toml` and the image repeat."""

VERSION = "0.1.0"
