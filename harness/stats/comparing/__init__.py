"""Paired comparison of systems: tests, their family and its correction, margins, rankings, posterior."""
