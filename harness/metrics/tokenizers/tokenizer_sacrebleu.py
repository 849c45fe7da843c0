"""sacreBLEU's tokenizers that are libraries: MeCab for Japanese and Korean, the SentencePiece models of FLORES."""

from __future__ import annotations

from pathlib import Path

from harness.metrics.tokenizers.tokenizer_base import Tokenizer, once, white_space
from harness.types import HarnessError


def tokenizer_sacrebleu(name: str, option: str) -> Tokenizer:
    """`option` is named in messages."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.tokenizers import tokenizer_spm as spm
    from sacrebleu.utils import SACREBLEU_DIR

    if name not in BLEU.TOKENIZERS:
        raise HarnessError(
            f"{option}={name}; expected one of {', '.join(sorted(BLEU.TOKENIZERS))}, words, or a SentencePiece model's "
            "path"
        )
    try:
        theirs = BLEU(tokenize=name).tokenizer
    except (ImportError, RuntimeError, OSError, AssertionError) as error:
        where = (
            Path(SACREBLEU_DIR) / "models" / spm.SPM_MODELS[name]["url"].rpartition("/")[2]
            if name in spm.SPM_MODELS
            else None
        )
        wanted = f" (expected its model at {where}, or online)" if where else ""
        raise HarnessError(f"{option}={name} is not available: {' '.join(str(error).split())}{wanted}") from error
    return Tokenizer(str(theirs.signature()), white_space(), once(lambda text: str(theirs(text.rstrip()))))
