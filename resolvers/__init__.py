"""The use cases, one module each. They know users, pages and rules, and no GraphQL or SQL."""
