"""Whether a run may take another's place."""
