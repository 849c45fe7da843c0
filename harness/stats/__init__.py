"""Statistics of stored rows: resampling, intervals, comparisons. NumPy only; no metric-specific code."""
