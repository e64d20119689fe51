"""The callers of the decode loop: a single run, a comparison, a benchmark, a search for good settings, recordings, the page's engine."""
