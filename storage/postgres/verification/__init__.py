"""Verifies that both directions and all counts agree, and repairs what differs."""
