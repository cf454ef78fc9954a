"""The mutations: each with its input, its outcomes and its payload in one module."""
