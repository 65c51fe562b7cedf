"""What answers requests: the application, its operations, keys, limits and the page."""
