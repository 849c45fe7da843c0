"""Data that comes with the package: briefs to summarise, and dates made for a small model to learn."""
