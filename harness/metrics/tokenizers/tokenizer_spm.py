"""The user's own SentencePiece model, by its path; the hash of the file names it in signatures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.inputs.files import file_digest
from harness.metrics.tokenizers.tokenizer_base import Tokenizer, once, white_space
from harness.types import HarnessError


def tokenizer_spm(name: str, option: str) -> Tokenizer:
    """`option` is named in messages."""
    path = Path(name)
    if not path.is_file():
        raise HarnessError(f"{option}={path} does not exist; expected a SentencePiece model, or a tokenizer's name")
    return Tokenizer(f"spm-{file_digest(path)[:8]}", white_space(), once(_pieces(name)))


def _pieces(path: str) -> Callable[[str], str]:
    try:
        import sentencepiece
    except ImportError:
        raise HarnessError(f"{path} needs the package sentencepiece, which is not installed") from None
    model = sentencepiece.SentencePieceProcessor(model_file=path)
    return lambda text: " ".join(model.encode(text.rstrip(), out_type=str))
