"""PostgreSQL and Valkey servers for one checkout.

Start at `servers.embedded_servers`. `python -m gateway.embedded FOLDER` runs only the two servers.
"""
