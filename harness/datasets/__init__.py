"""Data sets: one file per format or source, each yielding `Example`s."""
