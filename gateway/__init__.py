"""The processes: command line, HTTP, authentication, playground, and embedded servers."""
