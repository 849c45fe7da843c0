"""Tiny random encoders of several architectures, saved as transformers saves real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "a storm closed the harbour and the ships waited outside",
    "Numbers like 3.5 and words, with punctuation!",
    "The committee will meet again next week to vote on the budget.",
]
SIZE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64}
KINDS = ("bert", "roberta", "xlm-roberta", "distilbert", "deberta", "t5", "gpt2")


def _word_piece() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return tokenizer, names


def _bytes(special: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=names, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    if not special:
        return tokenizer, {"pad_token": "<pad>", "eos_token": "</s>"}
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer, {"pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"}


def _unigram(bert: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = [("</s>", 2), ("<s>", 0)]
    form = "<s> $A </s>" if bert else "$A </s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=form, special_tokens=ends)
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return tokenizer, {**names, "cls_token": "<s>", "sep_token": "</s>"} if bert else names


def make(kind: str, folder: Path, max_length: int | None = 64) -> Path:
    """A folder with a model of that kind; `max_length` None: a tokenizer that knows no maximum."""
    import torch
    import transformers

    torch.manual_seed(7)
    if kind in ("bert", "distilbert"):
        words, names = _word_piece()
    elif kind in ("xlm-roberta", "t5"):
        words, names = _unigram(kind != "t5")
    else:
        words, names = _bytes(kind != "gpt2")
    limit = {} if max_length is None else {"model_max_length": max_length}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, **names, **limit)
    common = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    config: Any
    if kind == "distilbert":
        config = transformers.DistilBertConfig(
            **common, dim=32, n_layers=3, n_heads=2, hidden_dim=64, max_position_embeddings=128
        )
    elif kind == "t5":
        config = transformers.T5Config(
            **common, d_model=32, d_kv=16, d_ff=64, num_layers=3, num_heads=2, decoder_start_token_id=1
        )
    elif kind == "gpt2":
        config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=3, n_head=2, n_positions=128)
    else:
        makers = {
            "bert": "BertConfig",
            "roberta": "RobertaConfig",
            "xlm-roberta": "XLMRobertaConfig",
            "deberta": "DebertaConfig",
        }
        config = getattr(transformers, makers[kind])(**common, **SIZE, max_position_embeddings=130)
    model = transformers.AutoModel.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
