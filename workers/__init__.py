"""The arq worker: drains lanes, keeps reverse rows and counts, sweeps and purges."""
