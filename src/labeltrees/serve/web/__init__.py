"""The HTTP side: the application, its operations, keys, metrics and the page."""
