"""The HTTP interface: a table of operations, and what each of them does."""
