"""How the site is made from the documents, the code and the measured results."""
