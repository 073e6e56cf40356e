"""Entry point of `python -m argmetric`, the same as the command `argmetric`."""

import sys

from argmetric.cli import main

if __name__ == "__main__":
    sys.exit(main())
