"""The arq worker: drains lanes, maintains absent follower counts, ends expired mutes, erases
deleted accounts, sweeps and purges. `storage.drain` applies the changes of a lane."""
