"""What models that learn row by row with a table of weights share."""
