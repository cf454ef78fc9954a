"""Every setting of Kith: an environment variable with its type, default, unit and help.

`gateway.settings.environment` reads the variables, and `gateway.settings.config` makes the
configuration of a process from them. `make settings` prints these modules as docs/settings.md.
"""
