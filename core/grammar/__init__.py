"""Structured output: what the text may be (a JSON schema, a regex, a choice) becomes the ids that are allowed at each position."""
