"""What the demonstrations need and no evaluation does."""
