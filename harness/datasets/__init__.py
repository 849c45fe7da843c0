"""Data sets: one file a format or source, each yielding `Example`s."""
