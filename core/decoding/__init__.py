"""The decode loop, the same for every method: a round drafts, verifies in one target pass, emits tokens and is recorded."""
