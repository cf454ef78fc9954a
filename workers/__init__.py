"""The arq worker: drains lanes into reverse rows, counts, caches and events; counts who has gone or
come back; ends mutes whose time has passed; erases deleted accounts; sweeps and purges.
"""
