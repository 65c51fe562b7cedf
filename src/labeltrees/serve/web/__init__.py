"""The HTTP side, with the application, its operations, keys, metrics and the page."""
