"""Serve models that predict and learn over HTTP, and that survive a crash unchanged."""
