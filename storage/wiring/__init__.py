"""Wires the stores, from the tables to the local cache."""
