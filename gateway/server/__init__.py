"""A running gateway: its processes, its application, the spaces that it serves, its metrics."""
