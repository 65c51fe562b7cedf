"""What is learned: one folder per method, and what all models share."""
