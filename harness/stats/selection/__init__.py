"""Choosing among many: the winner without its luck, races, learning curves, what parameters do."""
