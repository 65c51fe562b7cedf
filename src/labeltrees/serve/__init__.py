"""The learning server: models that predict and learn over HTTP, and survive a crash unchanged."""
