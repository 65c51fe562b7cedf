"""From a file to the model that suits it: what is in it, which method, how good it is."""
