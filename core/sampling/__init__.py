"""The mathematics of speculative sampling: probabilities, verification and trees as pure tensor functions that know no run."""
