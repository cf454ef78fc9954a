"""Where the tables are on the machines of Citus."""
