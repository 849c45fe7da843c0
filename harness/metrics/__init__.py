"""Metrics: one file a metric, each turning examples into rows of summable statistics."""
