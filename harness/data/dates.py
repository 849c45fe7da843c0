"""`python -m harness.data.dates runs/dates`: trains a small model to write dates in words, and keeps its checkpoints.

The data is made here; the model, a Bart of half a million parameters, starts from random weights; two cores take about
two minutes. `make demo-checkpoints` then evaluates every checkpoint on dates that training never saw.

>>> in_words(date(2024, 3, 5))
'the fifth of march two thousand twenty-four'
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from harness.inputs import pretrained

ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}
ORDINALS |= {"twelve": "twelfth", "twenty": "twentieth", "thirty": "thirtieth"}
FIRST, LAST = date(1000, 1, 1), date(2999, 12, 31)
SPECIAL = ("<pad>", "</s>", "<unk>")
TRAIN, TEST = 20_000, 300


def cardinal(n: int) -> str:
    """A number below 10,000 in words.

    >>> cardinal(1984), cardinal(2000)
    ('one thousand nine hundred eighty-four', 'two thousand')
    """
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + (f"-{ONES[n % 10]}" if n % 10 else "")
    unit, name = (1000, "thousand") if n >= 1000 else (100, "hundred")
    rest = f" {cardinal(n % unit)}" if n % unit else ""
    return f"{cardinal(n // unit)} {name}{rest}"


def ordinal(n: int) -> str:
    """The day of a month in words.

    >>> ordinal(21), ordinal(14)
    ('twenty-first', 'fourteenth')
    """
    head, dash, last = cardinal(n).rpartition("-")
    return f"{head}{dash}{ORDINALS.get(last, last + 'th')}"


def in_words(day: date) -> str:
    return f"the {ordinal(day.day)} of {MONTHS[day.month - 1]} {cardinal(day.year)}"


def examples(train: int, test: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(training, test) examples, no date twice."""
    days = random.Random(seed).sample(range((LAST - FIRST).days + 1), train + test)
    made = [FIRST + timedelta(days=n) for n in days]
    rows = [{"id": str(day), "source": str(day), "references": [in_words(day)]} for day in made]
    return rows[:train], rows[train:]


def tokenizer() -> Any:
    """A digit or dash is a token, a word is a token."""
    from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers, processors
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    words = {word for n in range(100) for word in cardinal(n).split()} | {ordinal(n) for n in range(1, 32)}
    known = [*SPECIAL, *"0123456789-", *sorted(words), "the", "of", "hundred", "thousand", *MONTHS]
    core = Tokenizer(WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))
    digits = pre_tokenizers.Split(Regex(r"\d-?"), "isolated")
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), digits, pre_tokenizers.Split(Regex(r"(?<=\d)-"), "isolated")]
    )
    core.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def model(width: int, vocabulary: int) -> Any:
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=vocabulary, d_model=width, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, max_position_embeddings=32,
        dropout=0.0, init_std=0.05, pad_token_id=0, bos_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        forced_eos_token_id=None,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def train(folder: Path, steps: int, saves: int = 5, width: int = 96, batch: int = 64, rate: float = 1e-4) -> Path:
    """Writes train.jsonl, test.jsonl and `saves` checkpoints into the folder."""
    import torch
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments, set_seed

    pretrained.quiet()
    set_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    kept, unseen = examples(TRAIN, TEST)
    for name, rows in (("train", kept), ("test", unseen)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = tokenizer()
    sources = words([row["source"] for row in kept])["input_ids"]
    targets = words([row["references"][0] for row in kept])["input_ids"]
    data = [{"input_ids": a, "labels": b} for a, b in zip(sources, targets, strict=True)]
    network = model(width, len(words))
    arguments = TrainingArguments(
        str(folder),
        max_steps=steps,
        per_device_train_batch_size=batch,
        learning_rate=rate,
        warmup_steps=steps // 20,
        save_steps=steps // saves,
        save_only_model=True,
        logging_strategy="no",
        report_to=[],
        use_cpu=not torch.cuda.is_available(),
        seed=0,
        dataloader_pin_memory=False,
    )
    collator = DataCollatorForSeq2Seq(words, network)
    Trainer(network, arguments, collator, train_dataset=data, processing_class=words).train()
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m harness.data.dates", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1500)
    options = parser.parse_args(arguments)
    if len(list(options.folder.glob("checkpoint-*/trainer_state.json"))) >= 5:
        print(f"{options.folder} has its checkpoints already")
    else:
        train(options.folder, options.steps)


if __name__ == "__main__":
    main()
