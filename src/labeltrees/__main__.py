"""`python -m labeltrees` is the command line."""

import sys

from labeltrees.cli import main

if __name__ == "__main__":
    sys.exit(main())
