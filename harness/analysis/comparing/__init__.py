"""Runs side by side: which can be compared, and what the tests between them say."""
