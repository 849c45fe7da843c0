"""Compiled kernels: UTF-8 text to token ids, counts of what two texts share, and edits between them.

Every kernel works on whole columns (Arrow's layout: one buffer and offsets) and releases the interpreter's lock, so
that chunks run on all cores. Counts are exact: tokens are compared character by character, n-grams by the ids of their
parts, never by a hash alone. `harness.metrics.columns` calls the kernels and gives them their arrays.

A kernel is compiled when it is first called and kept on disk. It is written plainly for that reason (whole numbers of
one kind, loops, no allocation): that takes half the time of the idiomatic form, see docs/decisions/0005.
"""

from harness.metrics.kernels.edits import BEAM, ter
from harness.metrics.kernels.information import collect, look_up, place
from harness.metrics.kernels.ngrams import overlap
from harness.metrics.kernels.stemming import IRREGULAR, RULES, stem
from harness.metrics.kernels.subsequences import BITS, ROWS, lcs, mark, union_lcs
from harness.metrics.kernels.tokens import SHORT, decode, number, split

__all__ = [
    "BEAM",
    "BITS",
    "IRREGULAR",
    "ROWS",
    "RULES",
    "SHORT",
    "collect",
    "decode",
    "lcs",
    "look_up",
    "mark",
    "number",
    "overlap",
    "place",
    "split",
    "stem",
    "ter",
    "union_lcs",
]
