"""The arq worker: drains lanes into reverse rows, counts, caches and events; ends mutes whose time
has passed; erases deleted accounts; sweeps and purges.
"""
