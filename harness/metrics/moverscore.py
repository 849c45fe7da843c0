"""MoverScore (Zhao et al. 2019): what it costs to move the words of the reference onto those of the output.

A token's vector joins the minimum, mean and maximum of a transformer's last layers; its weight is its idf. The cost of
moving one n-gram onto another is the squared distance of their unit vectors, the least total cost is found exactly
(POT's network simplex), and the score is 1 minus that cost. This agrees with the authors' moverscore.py and its
defaults; `compat=moverscore_v2` is their faster variant: the last layer only, distances not squared, 1 / (1 + cost).
With several references the mean counts, as in the authors' examples, or the best. The score of a run is the mean.

The idf of the references' tokens comes from all references of the data set, that of the outputs' tokens from all
outputs of the run, as in the authors' code: **an example's score depends on the other outputs**, and equal texts score
1 only where both sides weigh them alike. What has no counterpart to move to costs the largest distance of the pair, so
an empty output is about as bad as can be; where neither side has any weight and the tokens differ, the row is missing.

>>> metric = MoverScore()
>>> metric.score(np.array([1.2, 2.0])).tolist()
[0.6]
"""

from __future__ import annotations

import logging
import string
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from harness.inputs.files import digest, read_lines
from harness.inputs.pretrained import MINILM, Pretrained, packaged
from harness.metrics.alignment import moved
from harness.metrics.encoder import Encoded, Encoder, Idf, chunks
from harness.metrics.means import means
from harness.metrics.transport import no_pot, plan, transport
from harness.types import Alignment, Array, Batch, HarnessError, Metric, check_least

log = logging.getLogger(__name__)

COMPAT = {"moverscore": (5, 1e-5), "moverscore_v2": (1, 1e-30)}
"""Whose rules: how many of the last layers, and what the authors add to a sum of weights before they divide by it."""
REFERENCES = ("average", "best")
PUNCTUATION = frozenset(string.punctuation)
CHUNK_TOKENS = 8_000
"""Vectors of about so many tokens, of all layers, are held in memory at a time."""


class Grams(NamedTuple):
    units: Array
    """(n-grams, d): vectors of length 1, or 0 where nothing weighs."""
    masses: Array
    """(n-grams,): they add up to about 1."""
    tokens: list[int]
    places: list[int]
    """Of these tokens in the text."""


class MoverScore(Metric):
    name = "moverscore"
    title = "MoverScore"
    aligns = True
    reads = ("outputs", "references")
    averaged = True
    windowed = False
    """True where a text that is longer than the encoder's window is looked at in windows, and not cut."""
    columns: tuple[str, ...] = ("moverscore", "count")
    counted = ("count",)
    score_names: tuple[str, ...] = ("moverscore",)
    plain = (
        "layers", "n_gram", "idf", "remove_subwords", "references", "compat", "max_length", "batch_tokens", "device",
        "dtype",
    )  # fmt: skip

    def __init__(
        self,
        model: str = MINILM,
        layers: int | None = None,
        n_gram: int = 1,
        idf: bool = True,
        stop_words: str | Sequence[str] = (),
        remove_subwords: bool = True,
        references: str = "average",
        compat: str = "moverscore",
        max_length: int | None = None,
        revision: str | None = None,
        batch_tokens: int = 4096,
        device: str = "auto",
        dtype: str = "float32",
        pickle: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """`layers`: how many of the last ones; None: the authors' choice. `stop_words`: words, or a file of them."""
        numbers = {"layers": layers, "n_gram": n_gram, "max_length": max_length, "batch_tokens": batch_tokens}
        for option, value in numbers.items():
            least = 3 if option == "max_length" else 1  # two tokens are special
            check_least(f"metrics.moverscore.{option}", value, least)
        for option, choice, choices in (("references", references, REFERENCES), ("compat", compat, tuple(COMPAT))):
            if choice not in choices:
                raise HarnessError(f"metrics.moverscore.{option}={choice}; expected {' or '.join(choices)}")
        self.layers, self.n_gram, self.idf, self.compat = layers, n_gram, idf, compat
        self.at_once = self.fits = idf
        self.aligns = n_gram == 1  # n-grams overlap, and cannot be marked in a text
        self.stop_words, self.remove_subwords, self.references = stop_words, remove_subwords, references
        self.max_length, self.batch_tokens = max_length, batch_tokens
        self.pretrained = Pretrained(
            model,
            "metrics.moverscore.model",
            revision=revision,
            dtype=dtype,
            device=device,
            pickle=pickle,
            trust_remote_code=trust_remote_code,
        )
        self._corpus: list[str] | None = None
        self._outputs: list[str] | None = None

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> MoverScore:
        """Words are matched by a model that comes inside a package and by no other, and not where a file says which to
        leave out."""
        metric = cls(**{option: value for option, value in options.items() if option in cls.plain})
        metric.aligns = metric.aligns and packaged(options) and not options.get("stop_words")
        return metric

    # ------------------------------------------------------------ identity, without torch

    @property
    def _depth(self) -> int:
        return self.pretrained.depth or 10**9

    @property
    def _layers(self) -> int:
        if self.layers is not None and self.layers > self._depth:
            model = self.pretrained.model
            raise HarnessError(f"metrics.moverscore.layers={self.layers}; expected 1 to {self._depth} for {model}")
        return self.layers or min(COMPAT[self.compat][0], self._depth)

    @cached_property
    def _encoder(self) -> Encoder:
        layer = self._depth if self._layers == 1 else None
        return Encoder(self.pretrained, layer, self.max_length, self.batch_tokens, self.windowed)

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        if not isinstance(self.stop_words, str):
            return frozenset(self.stop_words)
        lines = read_lines(self.stop_words, "metrics.moverscore.stop_words=FILE, words separated by white space")
        return frozenset(chain.from_iterable(line.split() for line in lines))

    def definition(self) -> dict[str, str]:
        return {
            "model": self.pretrained.label,
            "layers": str(self._layers),
            "ngram": str(self.n_gram),
            "idf": "yes" if self.idf else "no",
            "stop": digest(sorted(self._stop_words))[:8] if self._stop_words else "no",
            "subwords": "first" if self.remove_subwords else "all",
            "refs": self.references,
            "max": str(self.max_length or "model") + ("-windows" if self.windowed else ""),
            "dtype": self.pretrained.dtype,
            "compat": self.compat,
        }

    def provenance(self) -> dict[str, str]:
        try:
            pot = version("POT")
        except PackageNotFoundError:
            raise no_pot() from None
        return {**({"idfs": self.context} if self.context else {}), "pot": pot, **self.pretrained.versions()}

    def fit(self, references: Sequence[Sequence[str]]) -> MoverScore:
        """With `idf`, keeps the references of the data set: those of failed outputs count, too.

        The idf of the outputs needs no context of its own: the key of the rows has all outputs of the run in it.
        """
        if not self.idf:
            return self
        fitted = copy(self)
        fitted._corpus = list(chain.from_iterable(references))
        fitted.context = digest(sorted(fitted._corpus))[:8]
        return fitted

    def fit_outputs(self, outputs: Sequence[str]) -> MoverScore:
        """With `idf`, keeps the outputs of the run."""
        if not self.idf:
            return self
        fitted = copy(self)
        fitted._outputs = list(outputs)
        return fitted

    # ------------------------------------------------------------ rows

    def in_windows(self) -> MoverScore:
        whole = copy(self)
        whole.windowed = True
        whole.columns, whole.score_names = ("moverscore", "truncated", "count"), ("moverscore", "moverscore.truncated")
        whole.__dict__.pop("_encoder", None)
        return whole

    def _weights(self, outputs: Sequence[str]) -> tuple[Idf | None, Idf | None]:
        """Of the tokens of outputs, and of references."""
        if not self.idf:
            return None, None
        own = outputs if self._outputs is None else self._outputs
        return Idf(self._encoder, own), Idf(self._encoder, self._corpus or [])

    def statistics(self, batch: Batch) -> Array:
        encoder = self._encoder
        if self.idf and self._corpus is None:
            return self.fit(batch.references).statistics(batch)
        outputs, references = list(batch.outputs), list(batch.references)
        ours, theirs = self._weights(outputs)
        rows = np.ones((len(outputs), len(self.columns)))
        cut = 0
        for chunk in chunks(outputs, references, CHUNK_TOKENS):
            encoded = encoder.encode([text for i in chunk for text in (outputs[i], *references[i])], self.arrays)
            for i in chunk:
                output, refs = encoded[outputs[i]], [encoded[reference] for reference in references[i]]
                own = self._grams(output, ours)
                each = [self._score(self._grams(reference, theirs), own) for reference in refs]
                rows[i, 0] = np.max(each) if self.references == "best" else np.mean(each)
                rows[i, 1:-1] = longer = output.cut or any(reference.cut for reference in refs)
                cut += longer
            self.advance(len(chunk))
        unknown = np.isnan(rows[:, 0])
        rows[unknown] = np.nan
        if cut and not self.windowed:
            log.warning(
                "moverscore: %d of %d examples are longer than %d tokens and were cut",
                cut, len(outputs), encoder.max_length,
            )  # fmt: skip
        if unknown.any():
            log.warning(
                "moverscore: %d of %d examples have no score, since none of their tokens has any weight (the idf of a "
                "token that every text has is 0); expected more examples, or metrics.moverscore.idf=false",
                unknown.sum(), len(outputs),
            )  # fmt: skip
        return rows

    def _grams(self, text: Encoded, idf: Idf | None) -> Grams:
        """A text's n-grams: their idf is the sum, their vector the mean by idf. One that is too short is one n-gram."""
        names = self.pretrained.tokenizer.convert_ids_to_tokens(text.ids.tolist())
        kept = [i for i, name in enumerate(names) if not self._left_out(name)]
        vectors = text.vectors[..., kept, :]
        if self._layers > 1:  # of one layer the three are the same, and so are the distances
            last = vectors[-self._layers :]
            vectors = np.concatenate([last.min(0), last.mean(0), last.max(0)], axis=-1)
        own = text.ids[kept].tolist()
        weights = np.ones(len(own)) if idf is None else idf.of(text)[kept]
        weighted = vectors * weights[:, None]
        n = max(1, min(self.n_gram, len(own)))
        count = len(own) - n + 1
        masses: Array = sum((weights[k : k + count] for k in range(n)), np.zeros(count))
        sums: Array = sum((weighted[k : k + count] for k in range(n)), np.zeros((count, weighted.shape[1])))
        little = COMPAT[self.compat][1]
        means = sums / (masses + little)[:, None]
        units = means / (np.linalg.norm(means, axis=1, keepdims=True) + 1e-6)
        return Grams(units, masses / (masses.sum() + little), own, kept)

    def _left_out(self, name: str) -> bool:
        """Punctuation, stop words and, by WordPiece's mark, all but the first part of a word."""
        return name in PUNCTUATION or name in self._stop_words or (self.remove_subwords and "##" in name)

    def _score(self, reference: Grams, output: Grams) -> float:
        if not reference.masses.any() and not output.masses.any():
            return 1.0 if reference.tokens == output.tokens else float("nan")
        between, most = self._distances(reference, output)
        cost = transport(reference.masses, output.masses, between, most)
        return 1 / (1 + cost) if self.compat == "moverscore_v2" else 1 - cost

    def _distances(self, reference: Grams, output: Grams) -> tuple[Array, float]:
        """(what it costs to move each n-gram of the reference to each of the output, the largest of the pair)."""
        units = np.concatenate([reference.units, output.units])
        squares = (units**2).sum(1)
        distances = np.maximum(squares[:, None] + squares - 2 * units @ units.T, 0.0)
        if self.compat == "moverscore_v2":
            distances = np.sqrt(distances)
        return distances[: len(reference.units), len(reference.units) :], float(distances.max())

    # ------------------------------------------------------------ which words were moved

    def align(self, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Alignment | None]:
        """Of the reference of the highest score. With `idf`, these outputs are all of the run, unless `fit_outputs` was
        told of more."""
        if self.n_gram > 1:
            raise HarnessError(
                f"metrics.moverscore.n_gram={self.n_gram}: n-grams overlap, so that their moves cannot be shown in the "
                "text; expected n_gram=1"
            )
        if self.idf and self._corpus is None:
            return self.fit(references).align(outputs, references)
        ours, theirs = self._weights(outputs)
        alignments: list[Alignment | None] = [None] * len(outputs)
        for chunk in chunks(outputs, references, CHUNK_TOKENS):
            encoded = self._encoder.encode([text for i in chunk for text in (outputs[i], *references[i])], self.arrays)
            for i in chunk:
                output, refs = encoded[outputs[i]], [encoded[reference] for reference in references[i]]
                own, others = self._grams(output, ours), [self._grams(reference, theirs) for reference in refs]
                best = int(np.argmax([np.nan_to_num(self._score(other, own), nan=-np.inf) for other in others]))
                if not own.masses.any() or not others[best].masses.any():
                    continue
                shares, similar = (np.zeros((len(output.ids), len(refs[best].ids))) for _ in range(2))
                between, most = self._distances(others[best], own)
                cells = np.ix_(own.places, others[best].places)
                shares[cells] = plan(others[best].masses, own.masses, between, most).T
                similar[cells] = own.units @ others[best].units.T
                texts, both = (outputs[i], references[i][best]), (output, refs[best])
                alignments[i] = moved(self.pretrained, texts, both, shares, similar, best)
        return alignments

    def score(self, sums: Array) -> Array:
        return means(sums)
