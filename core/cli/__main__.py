"""`python -m core.cli`: the same as `specscope`."""
import sys

from core.cli.main import main

sys.exit(main())
