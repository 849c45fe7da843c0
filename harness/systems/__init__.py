"""Systems under test: one file per kind."""
