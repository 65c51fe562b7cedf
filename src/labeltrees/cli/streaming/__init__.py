"""What `labeltrees stream` needs while it runs."""
