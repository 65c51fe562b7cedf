"""What a file is: its format, its columns and its labels."""
