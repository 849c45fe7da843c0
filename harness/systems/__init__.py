"""Systems under test: one file a kind."""
