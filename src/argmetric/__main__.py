"""The command `argmetric`, as `python -m argmetric`."""

import sys

from argmetric.cli import main

if __name__ == "__main__":
    sys.exit(main())
