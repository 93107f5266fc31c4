"""`python -m deepgrep`."""

import sys

from .cli.main import main

sys.exit(main())
