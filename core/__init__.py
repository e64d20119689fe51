"""Specscope's core: models, sampling, proposers, the decode loop, measuring and training. It knows nothing of the page (spec_ui)."""
import os
import warnings

# How long OpenMP's threads spin before they sleep. The default is so long that, beside a second busy process, a pass on two threads becomes ten
# times slower; without any spinning, threads wake too late for two of them to gain much. This count covers the gap between two matrix
# products. libgomp reads it once, so it must be set before torch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# torch warns at import that NumPy is missing. The core needs NumPy only to read GGUF files.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
