"""Specscope's decoding core."""
import os

# OpenMP's threads spin while they wait. Where another process wants the cores too, that made two-thread passes up to ten times slower
# here, and sleeping costs next to nothing where nobody does. It must be said before torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
