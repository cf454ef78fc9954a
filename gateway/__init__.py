"""The processes: command line, HTTP, who is asking, playground, and the servers of a laptop."""
