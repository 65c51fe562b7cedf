"""Detect the format, the columns and the labels of a file, and profile its rows."""
