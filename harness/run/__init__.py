"""`harness.run("dataset=file", "dataset.path=dev.jsonl", …)` runs what `harness run` does, and returns the run, or a
list where the words make several. A word is an override as it is typed, without the shell's quotes.

As a room: one evaluation, which is read, generate, postprocess, score, estimate, write, log. runner.py is the flow.
"""
