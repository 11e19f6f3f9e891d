"""`python -m flowfn` is the `flowfn` command."""

import sys

from flowfn.cli import main

sys.exit(main())
