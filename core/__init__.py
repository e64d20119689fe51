"""Specscope's decoding core."""
import os

# OpenMP's threads spin while they wait, by default for so long that a second busy process makes a two-thread pass ten times slower; asleep
# they wake so late that two threads gain little. This many spins bridge the gap between two matrix products and not much more. It must be said
# before torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")
