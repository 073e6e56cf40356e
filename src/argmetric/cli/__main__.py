"""``python -m argmetric.cli`` does what ``argmetric`` does."""

import sys

from argmetric.cli import main

if __name__ == "__main__":
    sys.exit(main())
