"""A bounded cache of hot users' values in process memory, invalidated by the Redis server."""
