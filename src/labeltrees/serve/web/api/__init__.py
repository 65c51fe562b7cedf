"""The HTTP interface, with a table of operations and a function for each of them."""
