"""The learning server: models asked and taught over HTTP, whose lessons outlive a crash."""
