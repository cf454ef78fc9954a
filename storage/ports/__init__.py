"""The interfaces of the stores, which `storage` implements, in one module for each subject.

Every method takes a batch, returns a batch, and may raise `graph.errors.Unavailable`. `viewer` is
the user whose own writes must be visible immediately, even if other users' writes are visible
later.
"""
