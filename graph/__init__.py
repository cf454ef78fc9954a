"""The heart: pure values and rules of the social graph. Imports nothing of ours, does no I/O."""
