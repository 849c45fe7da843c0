"""sacreBLEU's `none`: text that is tokenized already, split at white space."""

from __future__ import annotations

from harness.metrics.tokenizers.tokenizer_base import Tokenizer, as_is, white_space


def tokenizer_none() -> Tokenizer:
    return Tokenizer("none", white_space(), as_is)
