"""Pure values and rules of the social graph. No I/O."""
