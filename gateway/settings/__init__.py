"""Settings: declared, read from the environment, and made into a configuration."""
