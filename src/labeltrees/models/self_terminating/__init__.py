"""Self-terminating trees (paper 3)."""
