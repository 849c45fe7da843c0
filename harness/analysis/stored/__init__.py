"""Stored runs: finding, querying and loading them, what of them may be built, what they are called."""
