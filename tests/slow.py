"""Whether tests that take long are run: numbers of draws that grow ask here."""

import os

SLOW = "ARGMETRIC_SLOW" in os.environ
