"""Transports for services beside GraphQL: exports, the change feed, bulk operations."""
