"""Specscope's decoding core."""
import os
import warnings

# OpenMP's threads spin while they wait, by default for so long that a second busy process makes a two-thread pass ten times slower; asleep
# they wake so late that two threads gain little. This many spins bridge the gap between two matrix products and not much more. It must be said
# before torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# torch warns when it is imported that NumPy is missing, which the core does without where nothing is read from a GGUF file.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
