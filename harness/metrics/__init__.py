"""Metrics: one file per metric, each turning examples into rows of summable statistics."""
