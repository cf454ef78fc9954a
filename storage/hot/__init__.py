"""What a process remembers of hot users: bounded, told of every change, never old."""
