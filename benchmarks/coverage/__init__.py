"""`make coverage`: how often intervals hold the truth, and how often tests raise an alarm.

Each section is a module with the tables of docs/statistics.md that it writes. `python -m benchmarks.coverage` runs all
of them, `python -m benchmarks.coverage shares few` these, and `--samples 100` simulates less, for a look.
"""
