"""Real PostgreSQL and Valkey for one checkout. Knows nothing of graphs, GraphQL or HTTP.

Start at `servers.embedded_servers`; `python -m gateway.embedded FOLDER` runs the two servers alone.
"""
