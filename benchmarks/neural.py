"""BERTScore beside bert-score on the same model and threads, and what share of the machine's arithmetic it uses."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lexical import clock, data
from harness.metrics.bertscore import BertScore
from harness.metrics.encoder import Encoder
from harness.store.arrays import ArrayStore
from harness.types import Array, Batch

PAIRS = 2000


def tables() -> Iterator[str]:
    ((outputs, references),) = data(PAIRS, 1).values()
    second = [" ".join(reversed(output.split())) for output in outputs]  # another system: texts not seen before
    wrapped = [(reference,) for reference in references]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        store = ArrayStore(Path(folder) / "arrays.sqlite")
        rows: dict[str, Array] = {}

        def scored(texts: list[str], kept: ArrayStore | None = store, **options: Any) -> float:
            metric = BertScore(device="cpu", **options)
            metric.arrays = kept
            if kept is None or not kept.path.exists():
                metric._encoder._loaded  # noqa: B018  (the model is loaded on both sides)

            def work() -> None:
                rows["last"] = metric.statistics(Batch(texts, wrapped))

            return clock(work, 1)

        from bert_score import BERTScorer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        peer = BERTScorer(model_type=str(BertScore().pretrained.folder), num_layers=BertScore()._layer, device="cpu")
        theirs = clock(lambda: peer.score(outputs, references), 1)
        other = clock(lambda: peer.score(second, references), 1)
        first = scored(outputs)
        full = rows["last"]
        yield f"| BERTScore of {PAIRS:,} pairs | seconds | bert-score 0.3.13, s | ratio |"
        yield "| --- | ---: | ---: | ---: |"
        yield f"| first system | {first:.2f} | {theirs:.2f} | {theirs / first:.1f} |"
        later = scored(second)
        yield f"| second system, same references | {later:.2f} | {other:.2f} | {other / later:.1f} |"
        again = min(scored(outputs) for _ in range(3))
        yield f"| the first again | {again:.2f} | {theirs:.2f} | {theirs / again:.0f} |"
        half = scored(outputs, None, dtype="bfloat16")
        far = np.abs(rows["last"][:, 0] - full[:, 0])
        mean = abs(rows["last"][:, 0].mean() - full[:, 0].mean())
        yield f"| first system in bfloat16 | {half:.2f} | {theirs:.2f} | {theirs / half:.1f} |"
        yield (
            f"\nIn bfloat16 F1 of a pair is off by {far.mean():.4f} on average and {far.max():.4f} at most, "
            f"the mean of all by {mean:.5f}."
        )
        yield f"Encoding reaches {share():.2f} of the speed of a large matrix product on this machine."


def share() -> float:
    """Encoding's arithmetic a second, over that of a product of two matrices of 2,048 by 2,048."""
    import torch

    metric = BertScore(device="cpu")
    encoder: Encoder = metric._encoder
    _, _, model = encoder._loaded
    width, layers = model.config.hidden_size, metric._layer
    ids = torch.randint(1000, 20_000, (128, 32))
    square = torch.randn(2048, 2048)
    with torch.inference_mode():
        model(input_ids=ids)
        seconds = clock(lambda: model(input_ids=ids), 5)
        peak = 2 * 2048**3 / clock(lambda: square @ square, 5)
    done = 2 * ids.numel() * layers * 12 * width**2  # four projections and a feed-forward layer of four times the width
    return done / seconds / peak
