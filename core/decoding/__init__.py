"""One decode loop for every method: a round drafts, verifies in one target pass, emits, and is recorded."""
