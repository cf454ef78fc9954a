"""GraphQL over HTTP, event streams and web sockets: from a request to its response."""
