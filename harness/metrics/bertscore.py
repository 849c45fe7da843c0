"""BERTScore (Zhang et al. 2020) as the package bert-score 0.3.13 computes it, without its known faults.

Each output token is matched with the most similar reference token (precision), each reference token with the most
similar output token (recall), by cosine of a transformer layer's vectors; F1 is their harmonic mean. The score of a run
is the mean over examples. With several references the one of the highest F1 counts, as one coherent triple, or the mean
of all (`references=average`); the package takes the best precision, recall and F1 independently, which is the option
`references=independent`.

The default encoder is all-MiniLM-L6-v2, whose weights come inside a Python package and are checked by hash; any other
transformers encoder goes by folder or hub name.

>>> metric = BertScore()
>>> metric.score(np.array([1.6, 1.7, 1.5, 0.0, 2.0])).tolist()  # F1, precision, recall, share of texts that were cut
[0.8, 0.85, 0.75, 0.0]
"""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs.files import digest
from harness.inputs.model_files import package_folder
from harness.inputs.pretrained import MINILM, Pretrained, packaged
from harness.metrics.alignment import aligned
from harness.metrics.encoder import Encoded, Encoder, Idf, chunks
from harness.metrics.means import harmonic, means
from harness.types import Alignment, Array, Batch, HarnessError, Metric, check_choice, check_least

log = logging.getLogger(__name__)
REFERENCES = {"best": "best-f", "average": "average", "independent": "independent-max"}
PARTS = ("", ".precision", ".recall")
CHUNK_TOKENS = 100_000
"""Vectors of so many tokens are held in memory at a time."""


class BertScore(Metric):
    name = "bertscore"
    title = "BERTScore"
    aligns = True
    version = 3
    reads = ("outputs", "references")
    averaged = True
    windowed = False
    """True where a text that is longer than the encoder's window is looked at in windows, and not cut."""
    plain = (
        "layer", "all_layers", "idf", "references", "max_length", "batch_tokens", "device", "dtype",
    )  # fmt: skip

    def __init__(
        self,
        model: str = MINILM,
        layer: int | None = None,
        all_layers: bool = False,
        idf: bool = False,
        rescale: str | None = None,
        references: str = "best",
        max_length: int | None = None,
        revision: str | None = None,
        batch_tokens: int = 4096,
        device: str = "auto",
        dtype: str = "float32",
        pickle: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """`layer`: None is bert-score's choice for the model, or three quarters of the depth. `rescale`: a language of
        bert-score's baselines, or a file of your own."""
        check_choice("metrics.bertscore.references", references, REFERENCES)
        for option, value in (("batch_tokens", batch_tokens), ("max_length", max_length)):
            check_least(f"metrics.bertscore.{option}", value)
        self.layer, self.all_layers, self.idf, self.rescale = layer, all_layers, idf, rescale
        self.references, self.max_length, self.batch_tokens = references, max_length, batch_tokens
        self.fits = idf
        self.pretrained = Pretrained(
            model,
            "metrics.bertscore.model",
            revision=revision,
            dtype=dtype,
            device=device,
            pickle=pickle,
            trust_remote_code=trust_remote_code,
        )
        self._name_layers(self._depth + 1 if all_layers else 0)
        self._weights: Idf | None = None

    def _name_layers(self, number: int) -> None:
        layers = [f"bertscore.layer{i}" for i in range(number)]
        self._triples = [name + part for name in ("bertscore", *layers) for part in PARTS]
        self.score_names = (*self._triples, "bertscore.truncated")
        self.columns, self.counted = (*self._triples, "truncated", "count"), ("count",)

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> BertScore:
        """The columns say how many layers there are, so the model is not asked. Words are matched by a model that
        comes inside a package, whose weights are checked, and by no other."""
        kept = {option: value for option, value in options.items() if option in cls.plain}
        metric = cls(**{**kept, "all_layers": False})
        metric.all_layers = bool(kept.get("all_layers"))
        if metric.all_layers:
            metric._name_layers(len(columns) // len(PARTS) - 1)  # the columns beside the layers': one triple and two
        metric.aligns = packaged(options)
        return metric

    # ------------------------------------------------------------ identity, without torch

    @property
    def _depth(self) -> int:
        return self.pretrained.depth or 0

    @cached_property
    def _layer(self) -> int:
        name = self.pretrained.model
        known = json.loads((Path(__file__).parent / "bertscore_layers.json").read_text(encoding="utf-8"))
        chosen = known.get(name, known.get(Path(name).name, round(0.75 * self._depth)))
        layer = self.layer if self.layer is not None else chosen
        if not 0 <= layer <= self._depth:
            raise HarnessError(f"metrics.bertscore.layer={layer}; expected 0 to {self._depth} for {name}")
        return int(layer)

    @cached_property
    def _baseline(self) -> NDArray[np.float64] | None:
        """(layers, 3): precision, recall and F1 of unrelated texts."""
        if self.rescale is None:
            return None
        path = Path(self.rescale).expanduser()
        if not path.is_file():
            package = package_folder("bert_score")
            if package is None:
                raise HarnessError(
                    f"metrics.bertscore.rescale={self.rescale} is not a file, and bert-score, which has baselines by "
                    "language, is not installed; expected a .tsv of LAYER,P,R,F, or that package "
                    "(pip install --no-deps bert-score==0.3.13)"
                )
            folder = package / "rescale_baseline"
            name = self.pretrained.model if self.pretrained.location is None else Path(self.pretrained.model).name
            path = folder / self.rescale / f"{name}.tsv"
            if not path.is_file():
                languages = sorted(str(p.parent.relative_to(folder)) for p in folder.rglob(f"{Path(name).name}.tsv"))
                raise HarnessError(
                    f"metrics.bertscore.rescale={self.rescale}: bert-score has no baseline for {name} there; expected "
                    f"a language it has one for ({', '.join(languages) or 'none'}), or a file of your own"
                )
        with open(path, newline="", encoding="utf-8") as handle:
            rows = list(csv.reader(handle))[1:]
        try:
            baseline = np.array([[float(x) for x in row[1:4]] for row in rows])
            baseline[self._depth if self.all_layers else self._layer, 2]
        except (ValueError, IndexError) as error:
            raise HarnessError(f"{path}: {error}; expected LAYER,P,R,F and a line for each layer from 0 on") from None
        return baseline

    def definition(self) -> dict[str, str]:
        baseline = self._baseline
        return {
            "model": self.pretrained.label,
            "layer": f"{self._layer}{'+all' if self.all_layers else ''}",
            "idf": "yes" if self.idf else "no",
            "rescale": "no" if baseline is None else digest(baseline.tolist())[:8],
            "refs": REFERENCES[self.references],
            "max": str(self.max_length or "model") + ("-windows" if self.windowed else ""),
            "dtype": self.pretrained.dtype,
        }

    def provenance(self) -> dict[str, str]:
        return {**({"idfs": self.context} if self.context else {}), **self.pretrained.versions()}

    # ------------------------------------------------------------ rows

    @cached_property
    def _encoder(self) -> Encoder:
        layer = None if self.all_layers else self._layer
        return Encoder(self.pretrained, layer, self.max_length, self.batch_tokens, self.windowed)

    def fit(self, references: Sequence[Sequence[str]]) -> BertScore:
        """With `idf`, the weights of tokens: how rare they are in the references of the data set."""
        if not self.idf:
            return self
        fitted = copy(self)
        texts = list(chain.from_iterable(references))
        fitted._weights = Idf(self._encoder, texts)
        fitted.context = fitted._weights.key
        if not any(fitted._weights.known.values()):
            log.warning(
                "bertscore: idf is fitted to %d reference%s, and every token is in %s, so that all weigh 0 and nothing "
                "can be scored; expected more references that differ, or metrics.bertscore.idf=false",
                len(texts), "" if len(texts) == 1 else "s", "it" if len(texts) == 1 else "all of them",
            )  # fmt: skip
        return fitted

    def in_windows(self) -> BertScore:
        whole = copy(self)
        whole.windowed = True
        whole.__dict__.pop("_encoder", None)
        return whole

    def _check_fitted(self) -> None:
        if self.idf and self._weights is None:
            raise HarnessError("bertscore with idf needs the references of the whole data set; expected fit() before")

    def statistics(self, batch: Batch) -> Array:
        outputs, references = list(batch.outputs), list(batch.references)
        self._check_fitted()
        rows = np.ones((len(outputs), len(self.columns)))
        cut = 0
        for chunk in chunks(outputs, references, CHUNK_TOKENS):
            pairs = [(outputs[i], reference) for i in chunk for reference in references[i]]
            matched = self._matched(list(dict.fromkeys(pairs)))
            for i in chunk:
                matches = [matched[outputs[i], reference] for reference in references[i]]
                triples = np.array([match[:-1].reshape(-1, 3) for match in matches])  # (refs, layers, 3)
                rows[i, : len(self._triples)] = self._chosen(triples).ravel()
                rows[i, -2] = max(match[-1] for match in matches)
                cut += int(rows[i, -2])
            self.advance(len(chunk))
        unknown = np.isnan(rows[:, 0])
        rows[unknown] = np.nan
        if cut and not self.windowed:
            log.warning(
                "bertscore: %d of %d examples are longer than %d tokens and were cut; in examples.parquet their "
                "bertscore.truncated is 1", cut, len(outputs), self._encoder.max_length,
            )  # fmt: skip
        if unknown.any():
            log.warning(
                "bertscore: %d of %d examples have no score, since no token of the output, or none of the reference, "
                "has any weight (the idf of a token that every reference has is 0)", unknown.sum(), len(outputs),
            )  # fmt: skip
        return rows

    def _matched(self, pairs: list[tuple[str, str]]) -> dict[tuple[str, str], Array]:
        """Of each output and reference the triples of all layers and whether a text was cut, from the store if kept."""
        source, store = self.pretrained, self.arrays
        own: list[Any] = [self.name, self.version, source.fingerprint, self._layer, self.all_layers, source.dtype]
        own += [self.max_length, "windows"] if self.windowed else [self.max_length]
        keys = {pair: digest([*own, self.context, pair]) for pair in pairs} if store is not None else {}
        kept = store.get(list(keys.values())) if store is not None else {}
        known = {pair: np.frombuffer(kept[key]) for pair, key in keys.items() if key in kept}
        missing = [pair for pair in pairs if pair not in known]
        encoded = self._encoder.encode([text for pair in missing for text in pair], store)
        for output, reference in missing:
            a, b = encoded[output], encoded[reference]
            known[output, reference] = np.append(self._match(a, b).ravel(), float(a.cut or b.cut))
        if store is not None and missing:
            store.put({keys[pair]: known[pair].tobytes() for pair in missing})
        return known

    def _match(self, output: Encoded, reference: Encoded) -> Array:
        """(layers, 3): F1, precision and recall, the chosen layer first; 0 where a text has no tokens, as in
        bert-score, NaN where those it has weigh nothing."""
        ours, theirs = self._token_weights(output), self._token_weights(reference)
        layers = 1 if not self.all_layers else self._depth + 2
        if not ours.any() or not theirs.any():
            return np.full((layers, 3), 0.0 if _empty(output) or _empty(reference) else np.nan)
        similar = _similar(output, reference)
        precision = np.atleast_1d(similar.max(-1).astype(np.float64) @ (ours / ours.sum()))
        recall = np.atleast_1d(similar.max(-2).astype(np.float64) @ (theirs / theirs.sum()))
        triples = np.stack([harmonic(precision, recall), precision, recall], axis=-1)
        return np.concatenate([triples[[self._layer]], triples]) if self.all_layers else triples

    def _token_weights(self, text: Encoded) -> Array:
        return (~text.special).astype(np.float64) if self._weights is None else self._weights.of(text)

    def _chosen(self, triples: Array) -> Array:
        """(layers, 3) of the references (refs, layers, 3), rescaled; of those with a score, where there are any."""
        scored = ~np.isnan(triples[:, 0, 0])
        triples = triples[scored] if scored.any() else triples
        combined: Array = triples.mean(0) if self.references == "average" else triples.max(0)
        if self.references == "best":
            combined = triples[triples[:, :, 0].argmax(0), np.arange(triples.shape[1])]
        if self._baseline is None:
            return combined
        layers = [self._layer, *range(self._depth + 1)] if self.all_layers else [self._layer]
        baseline: Array = self._baseline[layers][:, [2, 0, 1]]
        rescaled: Array = (combined - baseline) / (1 - baseline)
        return rescaled

    def align(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Alignment | None]:
        """Of the reference of the highest F1, by the chosen layer. Texts that the store has need no model."""
        self._check_fitted()
        alignments: list[Alignment | None] = [None] * len(outputs)
        for chunk in chunks(outputs, references, CHUNK_TOKENS):
            pairs = [(outputs[i], reference) for i in chunk for reference in references[i]]
            matched = self._matched(list(dict.fromkeys(pairs)))
            best = {
                i: int(np.argmax([np.nan_to_num(matched[outputs[i], text][0], nan=-2) for text in references[i]]))
                for i in chunk
            }
            texts = {i: (outputs[i], references[i][best[i]]) for i in chunk}
            encoded = self._encoder.encode([text for pair in texts.values() for text in pair], self.arrays)
            for i, (output, reference) in texts.items():
                both = encoded[output], encoded[reference]
                weights = self._token_weights(both[0]), self._token_weights(both[1])
                if weights[0].any() and weights[1].any():
                    similar = _similar(*both)[self._layer] if self.all_layers else _similar(*both)
                    alignments[i] = aligned(self.pretrained, texts[i], both, similar, weights, best[i])
        return alignments

    def score(self, sums: Array) -> Array:
        return means(sums)


def _empty(text: Encoded) -> bool:
    """Whether there is nothing but what marks beginning and end."""
    return bool(text.special.all()) or len(text.ids) == 1


def _similar(output: Encoded, reference: Encoded) -> NDArray[np.float32]:
    """Cosines (output tokens, reference tokens), or (layers, …)."""
    return output.vectors @ np.swapaxes(reference.vectors, -1, -2)
