"""Sweeps: their cells, what their parameters do, the best, and how a race stands."""
