"""Files of edges that are loaded and exported."""
