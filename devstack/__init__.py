"""PostgreSQL and Valkey for a laptop and for tests, from wheels or from the system's packages.

Start at `servers.running_servers`. `python -m devstack FOLDER` runs only the two servers.
"""
