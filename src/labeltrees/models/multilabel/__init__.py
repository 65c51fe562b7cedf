"""Online label trees for rows with any number of labels."""
