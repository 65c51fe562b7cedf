"""What the papers compare themselves with."""
