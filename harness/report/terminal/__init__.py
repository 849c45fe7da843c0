"""Results in a terminal: scores, comparisons, lists of runs, learning curves, progress."""
