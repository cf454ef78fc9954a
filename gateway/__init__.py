"""The processes: command line, HTTP, authentication, and playground."""
