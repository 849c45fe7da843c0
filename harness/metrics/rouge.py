"""ROUGE (Lin 2004) as the package rouge-score 0.1.2 computes it, or as the Perl script ROUGE-1.5.5 does.

Per example precision, recall and F; the score of a run is the mean over examples. By rouge-score's rules the reference
of the highest F counts, score by score, and the sentences of ROUGE-Lsum are lines. The Perl script's rules are those of
`rouge155`. Outside English, `tokenizer=unicode` or `char`: rouge-score drops whatever is not a-z or 0-9.

>>> rouge = Rouge(types=["rouge1"])
>>> rows = rouge.statistics(Batch(["The cat sat on mat."], [["The cat sat on the mat."]]))
>>> [round(float(x), 4) for x in rouge.score(rows.sum(0))]  # F, precision, recall
[0.9091, 1.0, 0.8333]
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from harness.inputs import arrow
from harness.inputs.files import digest
from harness.metrics import columns, rouge155
from harness.metrics.columns import Chunk, Integers, Tokens
from harness.metrics.means import harmonic, means
from harness.metrics.tokenizers import Tokenizer, ascii_words, lowered, tokenizer, unicode_words
from harness.types import Array, Batch, HarnessError, Metric, TextLists, Texts, check_least, titled

log = logging.getLogger(__name__)
DEFAULT = ("rouge1", "rouge2", "rougeL", "rougeLsum")
PERL_ONLY = ("rougeW", "rougeS", "rougeSU")
MOST_WEIGHT = 4
"""Of rougeW, which raises lengths of texts by it twice: with more, those of long texts are no numbers."""
_TYPE = re.compile(r"rouge([1-9]|L|Lsum|W|S|SU)")
PARTS = ("", ".precision", ".recall")


class Rouge(Metric):
    name = "rouge"
    reads = ("outputs", "references")
    threads = True
    averaged = True
    bounds = (0.0, 1.0)
    plain = (
        "types", "stemmer", "tokenizer", "compat", "skip", "weight", "max_words", "max_bytes", "references", "alpha",
    )  # fmt: skip

    def __init__(
        self,
        types: Sequence[str] = DEFAULT,
        stemmer: bool = False,
        tokenizer: str = "rouge_score",
        compat: str = "rouge_score",
        skip: int | None = None,
        weight: float | None = None,
        stopwords: str | None = None,
        max_words: int | None = None,
        max_bytes: int | None = None,
        references: str | None = None,
        alpha: float | None = None,
    ) -> None:
        """`skip` to `alpha` are options of `compat="rouge155"`; None is the script's own default."""
        if not types:
            raise HarnessError(f"metrics.rouge.types is empty; expected for instance [{','.join(DEFAULT)}]")
        for type_ in types:
            if not _TYPE.fullmatch(type_):
                raise HarnessError(
                    f"metrics.rouge.types has {type_!r}; expected rouge1 to rouge9, rougeL, rougeLsum, rougeW, rougeS "
                    "or rougeSU"
                )
        self.types = tuple(dict.fromkeys(types))
        self.stemmer, self.tokenizer, self.compat = stemmer, tokenizer, compat
        self.stopwords = stopwords
        self._perl = {
            "skip": skip,
            "weight": weight,
            "stopwords": stopwords,
            "max_words": max_words,
            "max_bytes": max_bytes,
            "references": references,
            "alpha": alpha,
        }
        if compat == "rouge155":
            self._check_perl()
        elif compat == "rouge_score":
            self._check_own()
        else:
            raise HarnessError(f"metrics.rouge.compat={compat}; expected rouge_score or rouge155")
        self.score_names = tuple(type_ + part for type_ in self.types for part in PARTS)
        self.columns, self.counted = (*self.score_names, "count"), ("count",)

    def _check_own(self) -> None:
        chosen = [option for option, value in self._perl.items() if value is not None]
        missing = [*(f"types has {type_}, which" for type_ in self.types if type_ in PERL_ONLY)]
        missing += [f"{option}={self._perl[option]}, which" for option in chosen]
        if missing:
            raise HarnessError(
                f"metrics.rouge.{missing[0]} rouge-score does not have; expected metrics.rouge.compat=rouge155 with it"
            )
        if self.stemmer and self.tokenizer != "rouge_score":
            raise HarnessError(
                f"metrics.rouge.stemmer=true with tokenizer={self.tokenizer}; expected tokenizer=rouge_score, since "
                "Porter's rules are for English words of its alphabet"
            )

    def _check_perl(self) -> None:
        if self.tokenizer != "rouge_score":
            raise HarnessError(
                f"metrics.rouge.tokenizer={self.tokenizer} with compat=rouge155, which has its own; expected "
                "compat=rouge_score"
            )
        least = {"skip": -1, "weight": 1e-9, "max_words": 1, "max_bytes": 1, "alpha": 0}
        for option, lowest in least.items():
            value = self._perl[option]
            if isinstance(value, int | float):
                check_least(f"metrics.rouge.{option}", value, lowest)
        weight = self._perl["weight"]
        if isinstance(weight, int | float) and weight > MOST_WEIGHT:
            raise HarnessError(f"metrics.rouge.weight={weight}; expected at most {MOST_WEIGHT}")
        alpha = self._perl["alpha"]
        if isinstance(alpha, int | float) and alpha > 1:
            raise HarnessError(f"metrics.rouge.alpha={alpha}; expected 0 to 1")
        if self._perl["max_words"] and self._perl["max_bytes"]:
            raise HarnessError("metrics.rouge.max_words and max_bytes are both set; expected one of them, as in Perl")
        if self._perl["references"] not in (None, "average", "best"):
            raise HarnessError(f"metrics.rouge.references={self._perl['references']}; expected average or best")

    # ------------------------------------------------------------ rows

    def fit(self, references: Sequence[Sequence[str]]) -> Rouge:
        """The same, with a warning where rouge-score's tokenizer drops most of the references' letters."""
        if self.compat == self.tokenizer == "rouge_score":
            _warn_of_other_alphabets(references)
        return self

    def statistics(self, batch: Batch) -> Array:
        if self.compat == "rouge155":
            scores = rouge155.scores(batch.outputs, batch.references, self._rules, self.advance)
            return np.column_stack([scores, np.where(np.isnan(scores[:, 0]), np.nan, 1.0)])
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        tokens, lines = self._tokens_and_lines(chunk.all)
        ours, theirs = chunk.pairs
        produced, wanted = tokens.lengths[ours], tokens.lengths[theirs]
        orders = [int(type_[5:]) for type_ in self.types if type_[5:].isdigit()]
        alone = np.append(theirs, len(chunk.all))  # each reference by itself
        matches, _ = columns.overlap(tokens, ours, alone, max(orders, default=0))
        common = columns.lcs(tokens, theirs, ours) if {"rougeL", "rougeLsum"} & {*self.types} else produced
        parts = []
        for type_ in self.types:
            shorter = int(type_[5:]) - 1 if type_[5:].isdigit() else 0
            hits: Any = matches[:, shorter] if type_[5:].isdigit() else common
            if type_ == "rougeLsum":
                hits = _summary_level(chunk, common, lines)
            precision = hits / np.maximum(produced - shorter, 1)
            recall = hits / np.maximum(wanted - shorter, 1)
            parts.append(np.column_stack([harmonic(precision, recall), precision, recall]))
        scores = np.stack(parts, axis=1)  # (pairs, types, 3)
        chosen = columns.best(scores[:, :, 0], chunk.first - len(chunk))
        picked = scores[chosen, np.arange(len(self.types))]
        return np.column_stack([picked.reshape(len(chunk), -1), np.ones(len(chunk))])

    def _tokens_and_lines(self, texts: Texts) -> tuple[Tokens, tuple[Tokens, Integers] | None]:
        """(the tokens of texts, those of their lines and (n, 2) which lines are a text's), None where lines do not
        matter."""
        split = columns.lines(texts) if "rougeLsum" in self.types else None
        if split is None:
            return self._tokens(texts), None
        lines, ends = self._tokens(split[0]), split[1]
        if self.tokenizer != "rouge_score":
            return self._tokens(texts), (lines, ends)
        starts = lines.starts[np.append(ends[:, 0], ends[-1:, 1])]  # no word of rouge-score's goes across lines
        return Tokens(lines.ids, starts, lines.size, lines.vocabulary), (lines, ends)

    def _tokens(self, texts: Texts) -> Tokens:
        if self.tokenizer != "rouge_score":
            return self._other(lowered(texts))
        return columns.tokenized(texts, ascii_words(), self.stemmer)

    @cached_property
    def _other(self) -> Tokenizer:
        if self.tokenizer == "unicode":
            return unicode_words()
        return tokenizer(self.tokenizer, "metrics.rouge.tokenizer")

    @cached_property
    def _rules(self) -> rouge155.Rules:
        options = {option: value for option, value in self._perl.items() if value is not None}
        if self.stopwords is not None:
            options["stopwords"] = rouge155.read_stopwords(self.stopwords)  # type: ignore[assignment]
        types = tuple("rougeL" if type_ == "rougeLsum" else type_ for type_ in self.types)  # Perl's L is summary-level
        return rouge155.Rules(types, self.stemmer, **options)  # type: ignore[arg-type]

    # ------------------------------------------------------------ scores

    def score(self, sums: Array) -> Array:
        return means(sums)

    def title_of(self, score: str) -> str:
        """`ROUGE-L precision` for rougeL.precision."""
        return titled(score.replace("rouge", "ROUGE-", 1))

    def definition(self) -> dict[str, str]:
        if self.compat == "rouge155":
            rules = self._rules
            limit = f"words-{rules.max_words}" if rules.max_words else ""
            limit += f"bytes-{rules.max_bytes}" if rules.max_bytes else ""
            return {
                "compat": "rouge155",
                "stem": "porter-without-wordnet" if rules.stemmer else "no",
                "stop": digest(sorted(rules.stopwords))[:8] if rules.stopwords else "no",
                "limit": limit or "no",
                "skip": str(rules.skip),
                "weight": str(rules.weight),
                "alpha": str(rules.alpha),
                "refs": rules.references,
                "sentences": "newline",
            }
        return {
            "tok": "rouge_score" if self.tokenizer == "rouge_score" else self._other.signature,
            "case": "lc",
            "stem": "porter" if self.stemmer else "no",
            "refs": "best-f",
            "sentences": "newline",
        }

    def provenance(self) -> dict[str, str]:
        """The version of the implementation it agrees with, and of the package that words or stems come from."""
        if self.compat == "rouge155":
            return {"version": "1.5.5"}
        package = {"rouge_score": "nltk" if self.stemmer else None, "unicode": "regex"}.get(self.tokenizer, "sacrebleu")
        return {**({package: version(package)} if package else {}), "version": "0.1.2"}


def _summary_level(chunk: Chunk, common: Integers, lines: tuple[Tokens, Integers] | None) -> Integers:
    """Hits of ROUGE-Lsum; of texts of one line they are those of ROUGE-L."""
    if lines is None:
        return common
    tokens, ends = lines
    ours, theirs = chunk.pairs
    several = np.flatnonzero((np.diff(ends)[ours, 0] > 1) | (np.diff(ends)[theirs, 0] > 1))
    if not len(several):
        return common
    hits = common.copy()
    hits[several] = columns.union_lcs(tokens, ends[ours[several]], ends[theirs[several]])
    return hits


def _warn_of_other_alphabets(references: Sequence[Sequence[str]]) -> None:
    """Says so where rouge-score's tokenizer drops most letters, judging by up to 1,000 examples from all over."""
    sample = references[:: max(1, len(references) // 1000)]
    texts = sample.flat if isinstance(sample, TextLists) else arrow.column([text for refs in sample for text in refs])
    data, starts = texts.utf8
    counts = np.bincount(data[starts[0] : starts[-1]], minlength=256)
    if counts[0xC0:].sum() <= counts[[*range(48, 58), *range(65, 91), *range(97, 123)]].sum():
        return  # of characters that are not ASCII there are not enough
    letters = [c for text in arrow.plain(texts) for c in text if c.isalnum()]
    other = sum(not c.isascii() for c in letters)
    if 2 * other > len(letters):
        log.warning(
            "rouge: %.0f %% of the references' letters are outside a-z and 0-9, "
            "all that rouge-score's tokenizer keeps; use metrics.rouge.tokenizer=unicode (words), "
            "or char where words are not separated by spaces",
            100 * other / len(letters),
        )
