"""Loads files of edges into the tables."""
