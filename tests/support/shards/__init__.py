"""The static check that every statement can run on Citus, on the shards that it declares.

A named query declares its shards in a comment, as one of

    -- shard: $1         each distributed table has `COLUMN = $1`: one task
    -- shard: $1[]       each has `COLUMN = ANY ($1)`: one task per shard of these users
    -- shard: $1[1]      the same, and on Citus it is sent for each user: one task
    -- shard: $1, $2     parts of the statement differ: each is bound to one of them
    -- shard: fan-out    a task for every shard
    -- shard: local      no distributed table
    -- shard: plain      not checked: on Citus, NAME_on_citus replaces it, or with `(FILE.NAME)`
                         behind `plain`, that query

where COLUMN is the table's distribution column (`storage/postgres/citus/placement.py`).
`python -m tests.support.shards` checks the tree. `reading` finds the tables of a statement and what
their distribution columns are compared with, `rules` checks them, and `tree` reads the files.
"""
