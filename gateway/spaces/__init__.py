"""The spaces of a deployment: the name in a request, and the settings of several."""
