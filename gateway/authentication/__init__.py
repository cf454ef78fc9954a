"""Authentication: tokens, their keys and claims."""
