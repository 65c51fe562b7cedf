"""The HTTP interface: a table of operations, and a function for each of them."""
