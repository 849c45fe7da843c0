"""ROUGE (Lin 2004) as the package rouge-score 0.1.2 computes it, or as the Perl script ROUGE-1.5.5 does.

Per example precision, recall and F; the score of a run is the mean over examples. By rouge-score's rules the reference
of the highest F counts, score by score, or all of them pooled; the sentences of ROUGE-Lsum are lines. The Perl script's
rules are those of `rouge155`. Outside English, `tokenizer=unicode` or `char` (rouge-score drops whatever is not a-z or
0-9), and stems by language.

>>> rouge = Rouge(types=["rouge1"])
>>> rows = rouge.statistics(Batch(["The cat sat on mat."], [["The cat sat on the mat."]]))
>>> [round(float(x), 4) for x in rouge.score(rows.sum(0))]  # F, precision, recall
[0.9091, 1.0, 0.8333]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from harness.inputs.files import digest
from harness.inputs.installed import version
from harness.inputs.stems import LANGUAGES, stemmer
from harness.metrics import columns, rouge155
from harness.metrics.alphabets import warn_of_lost_words
from harness.metrics.columns import Chunk, Integers, Tokens
from harness.metrics.means import harmonic, means
from harness.metrics.snowball import stemmed
from harness.metrics.tokenizers import Tokenizer, ascii_words, lowered, tokenizer, unicode_words
from harness.types import Array, Batch, HarnessError, Metric, Texts, check_choice, check_least, titled

DEFAULT = ("rouge1", "rouge2", "rougeL", "rougeLsum")
PERL_ONLY = ("rougeW", "rougeS", "rougeSU")
REFERENCES = {"best": "best-f", "average": "average"}
"""What becomes of several references by rouge-score's rules, and its name in the signature."""
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
        "beta",
    )  # fmt: skip

    def __init__(
        self,
        types: Sequence[str] = DEFAULT,
        stemmer: bool | str = False,
        tokenizer: str = "rouge_score",
        compat: str = "rouge_score",
        skip: int | None = None,
        weight: float | None = None,
        stopwords: str | None = None,
        max_words: int | None = None,
        max_bytes: int | None = None,
        references: str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
    ) -> None:
        """`stemmer`: True is Porter's, for English; or a language of Snowball's. `skip` to `max_bytes` and `alpha` are
        options of `compat="rouge155"`; None is its default. `beta`: how many times as much recall counts in F."""
        if not types:
            raise HarnessError(f"metrics.rouge.types is empty; expected for instance [{','.join(DEFAULT)}]")
        for type_ in types:
            if not _TYPE.fullmatch(type_):
                raise HarnessError(
                    f"metrics.rouge.types has {type_!r}; expected rouge1 to rouge9, rougeL, rougeLsum, rougeW, rougeS "
                    "or rougeSU"
                )
        self._give(types)
        self.stemmer, self.compat = stemmer, compat
        self.tokenizer = "unicode" if tokenizer == "words" else tokenizer  # BLEU's name of the same words
        self.stopwords, self.references, self.beta = stopwords, references, beta
        self._perl = {
            "skip": skip,
            "weight": weight,
            "stopwords": stopwords,
            "max_words": max_words,
            "max_bytes": max_bytes,
            "alpha": alpha,
        }
        check_choice("metrics.rouge.compat", compat, ("rouge_score", "rouge155"))
        check_choice("metrics.rouge.references", references or "best", REFERENCES)
        check_least("metrics.rouge.beta", beta, 0)
        if compat == "rouge155":
            self._check_perl()
        else:
            self._check_own()
        self._check_stemmer()

    def _give(self, types: Sequence[str]) -> None:
        self.types = tuple(dict.fromkeys(types))
        self.score_names = tuple(type_ + part for type_ in self.types for part in PARTS)
        self.columns, self.counted = (*self.score_names, "count"), ("count",)

    def of_scores(self, scores: Sequence[str]) -> Rouge:
        part = copy(self)
        part.__dict__.pop("_rules", None)  # they name the types
        part._give([score for score in scores if score in self.types])
        return part

    def _check_own(self) -> None:
        missing = [*(f"types has {type_}" for type_ in self.types if type_ in PERL_ONLY)]
        missing += [f"{option}={value}" for option, value in self._perl.items() if value is not None]
        if missing:
            instead = ", or metrics.rouge.beta" if missing[0].startswith("alpha") else ""
            raise HarnessError(
                f"metrics.rouge.{missing[0]}, which rouge-score does not have; expected metrics.rouge.compat=rouge155 "
                f"with it{instead}"
            )

    def _check_perl(self) -> None:
        if self.tokenizer not in ("rouge_score", "unicode"):
            raise HarnessError(
                f"metrics.rouge.tokenizer={self.tokenizer} with compat=rouge155; expected tokenizer=rouge_score (the "
                "script's own words) or unicode, or compat=rouge_score"
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
        if alpha is not None and self.beta is not None:
            raise HarnessError(
                f"metrics.rouge.alpha={alpha} and beta={self.beta} are both set; expected one of them: alpha is "
                "1 / (1 + beta * beta)"
            )
        if self._perl["max_words"] and self._perl["max_bytes"]:
            raise HarnessError("metrics.rouge.max_words and max_bytes are both set; expected one of them, as in Perl")

    def _check_stemmer(self) -> None:
        if isinstance(self.stemmer, str):
            if self.stemmer not in LANGUAGES:
                raise HarnessError(
                    f"metrics.rouge.stemmer={self.stemmer}; expected true (Porter's, for English), false, or a "
                    f"language of Snowball's: {', '.join(LANGUAGES)}"
                )
            if self.tokenizer != "unicode":
                raise HarnessError(
                    f"metrics.rouge.stemmer={self.stemmer} with tokenizer={self.tokenizer}; expected "
                    "tokenizer=unicode, which gives the words of that language"
                )
        elif self.stemmer and self.tokenizer != "rouge_score":
            raise HarnessError(
                f"metrics.rouge.stemmer=true with tokenizer={self.tokenizer}; expected tokenizer=rouge_score, since "
                "Porter's rules are for English words of its alphabet, or tokenizer=unicode with a language "
                "(stemmer=portuguese)"
            )

    @property
    def _language(self) -> str | None:
        """Whose stems by Snowball count."""
        return self.stemmer if isinstance(self.stemmer, str) else None

    # ------------------------------------------------------------ rows

    def fit(self, references: Sequence[Sequence[str]]) -> Rouge:
        """The same, with a warning where words of the references have letters that the tokenizer does not know."""
        if self.tokenizer == "rouge_score":
            warn_of_lost_words(references)
        if self._language:
            stemmer(self._language)  # loaded here, before there are threads
        return self

    def statistics(self, batch: Batch) -> Array:
        if self.compat == "rouge155":
            scores = rouge155.scores(batch.outputs, batch.references, self._rules, self.advance)
            return np.column_stack([scores, np.where(np.isnan(scores[:, 0]), np.nan, 1.0)])
        return columns.rows(batch, len(self.columns), self._rows, self.advance)

    def _rows(self, chunk: Chunk) -> Array:
        tokens, lines = self._tokens_and_lines(chunk.all)
        ours, theirs = chunk.pairs
        each, beta = chunk.each[:-1], 1.0 if self.beta is None else self.beta
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
            lengths = np.maximum([produced - shorter, wanted - shorter], 0)
            if self.references == "average":
                hits, lengths = (np.add.reduceat(count, each, axis=-1) for count in (hits, lengths))
            precision, recall = hits / np.maximum(lengths, 1)
            parts.append(np.column_stack([harmonic(precision, recall, beta), precision, recall]))
        scores = np.stack(parts, axis=1)  # (pairs, types, 3), or (n, types, 3) where references are pooled
        if self.references != "average":
            scores = scores[columns.best(scores[:, :, 0], chunk.each), np.arange(len(self.types))]
        return np.column_stack([scores.reshape(len(chunk), -1), np.ones(len(chunk))])

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
        if self.tokenizer == "rouge_score":
            return columns.tokenized(texts, ascii_words(), bool(self.stemmer))
        tokens = self._other(lowered(texts))
        return stemmed(tokens, self._language) if self._language else tokens

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
        if self.beta is not None:
            options["alpha"] = 1 / (1 + self.beta**2)
        if self.references is not None:
            options["references"] = self.references
        types = tuple("rougeL" if type_ == "rougeLsum" else type_ for type_ in self.types)  # Perl's L is summary-level
        own = {"unicode": self.tokenizer == "unicode", "language": self._language}
        return rouge155.Rules(types, self.stemmer is True, **own, **options)  # type: ignore[arg-type]

    # ------------------------------------------------------------ scores

    def score(self, sums: Array) -> Array:
        return means(sums)

    def title_of(self, score: str) -> str:
        """`ROUGE-L precision` for rougeL.precision."""
        return titled(score.replace("rouge", "ROUGE-", 1))

    def definition(self) -> dict[str, str]:
        stem = f"snowball-{self._language}" if self._language else "porter" if self.stemmer else "no"
        if self.compat == "rouge155":
            rules = self._rules
            limit = f"words-{rules.max_words}" if rules.max_words else ""
            limit += f"bytes-{rules.max_bytes}" if rules.max_bytes else ""
            return {
                "compat": "rouge155",
                **({"tok": "unicode", "case": "lc"} if rules.unicode else {}),
                "stem": "porter-without-wordnet" if rules.stemmer else stem,
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
            "stem": stem,
            "refs": REFERENCES[self.references or "best"],
            **({} if self.beta in (None, 1) else {"beta": f"{self.beta:g}"}),
            "sentences": "newline",
        }

    def provenance(self) -> dict[str, str]:
        """The version of the implementation it agrees with, and of the packages that words and stems come from."""
        perl = self.compat == "rouge155"
        words = {"rouge_score": None, "unicode": "regex"}.get(self.tokenizer, "sacrebleu")
        stems = "nltk" if self._language or (self.stemmer and not perl) else None
        packages = {package: version(package) for package in (stems, words) if package}
        return {**packages, "version": "1.5.5" if perl else "0.1.2"}


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
