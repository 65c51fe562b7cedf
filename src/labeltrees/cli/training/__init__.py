"""What `labeltrees train` decides and reports."""
