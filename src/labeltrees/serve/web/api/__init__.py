"""The operations of the HTTP interface, a function for each."""
