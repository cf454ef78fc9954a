"""The use cases, one module each, on users, pages and rules; without GraphQL or SQL."""
