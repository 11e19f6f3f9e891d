"""`python -m flowfn.cli` is the `flowfn` command."""

import sys

from flowfn.cli import main

sys.exit(main())
