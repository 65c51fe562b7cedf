"""Feature matrices, labels and files."""
