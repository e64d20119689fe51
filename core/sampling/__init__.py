"""The mathematics of speculative sampling as pure tensor functions: probabilities, verification, tree shapes. Nothing here knows a run."""
