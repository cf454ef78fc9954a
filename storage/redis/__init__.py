"""Connections to servers with Redis's protocol, the keys, and the event log."""
