"""Find the method that suits the data, train it, and measure it on held-out rows."""
