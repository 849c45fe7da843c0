"""ROUGE-N, L, W, S and SU as the Perl script ROUGE-1.5.5 (Lin 2004) computes them, to the five digits that it prints.

What it prints for one example (`-d`), not the averages, which are means of resamples. Its rules, where a reader of the
paper would expect others:

- It reads bytes, of UTF-8 here. ASCII letters are lower-cased; whatever is no ASCII letter or digit separates words:
  `well-known` is two, `café` is `caf`, and there are no words in Chinese. `unicode` takes the words of any language
  instead (Unicode's word boundaries, every alphabet lower-cased); all else stays.
- F comes from precision and recall as printed, in five digits. Here those two stay exact and F is not rounded again.
- With several references hits and lengths are summed before dividing; or else the reference of the best recall counts,
  not that of the best F.
- The limits cut the references too, while punctuation still counts. ROUGE-L and W forget to add up bytes: they take all
  sentences before the first that reaches the limit by itself.
- N-grams and skip bigrams go across sentences. ROUGE-SU leaves out the last word among its unigrams.
- ROUGE-L marks the words of a reference sentence that lie on the longest common subsequence with any output sentence; a
  word counts as often as both texts have it. ROUGE-W weighs runs of such words, but its recall raises the length to
  the power twice, so that a text's score with itself is below 1.
- The stemmer leaves alone words of up to three letters, and departs from Porter (1980). Before it the script looks up
  words in WordNet's exceptions (`went`: `go`). They are not here: scores with a stemmer differ where such words match.
- The script stops at ROUGE-W of a reference without words. Here that has no hits and no length.

>>> rules = Rules(("rouge2", "rougeSU"))
>>> scores(["The cat sat on mat."], [["The cat sat on the mat."]], rules).round(5).tolist()  # F, precision, recall
[[0.66667, 0.75, 0.6, 0.82353, 1.0, 0.7]]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs.stems import stemmer
from harness.metrics.tokenizers import word_splitter
from harness.types import Advance, Array, HarnessError, nothing

Ids = NDArray[np.int64]
Counts = tuple[float, float, float, float]
"""Of one reference: hits, its length, the output's length, and the recall by which the best reference is chosen."""
_CELLS = 1 << 24
"""Up to this size the table of a pair of lines is kept whole."""


@dataclass(frozen=True)
class Rules:
    """What to compute, with the script's options."""

    types: tuple[str, ...]
    """Any of rouge1 to rouge9, rougeL, rougeW, rougeS and rougeSU."""
    stemmer: bool = False
    """-m"""
    skip: int = 4
    """-2: how many words a skip bigram may leave out; -1: any number."""
    weight: float = 1.2
    """-w: a run of k words in ROUGE-W is worth k to this power."""
    stopwords: frozenset[str] = frozenset()
    """-s: words to leave out, as they stand before stemming."""
    max_words: int | None = None
    """-l: words separated by blanks, of output and references."""
    max_bytes: int | None = None
    """-b: bytes of UTF-8, of output and references."""
    references: str = "average"
    """-f A is `average`, -f B is `best`."""
    alpha: float = 0.5
    """-p: towards 1 F favours precision, towards 0 recall."""
    unicode: bool = False
    """Words of any language, which the script does not have."""
    language: str | None = None
    """Whose stems by Snowball count, in the place of the script's own stemmer."""


def scores(
    outputs: Sequence[str], references: Sequence[Sequence[str]], rules: Rules, advance: Advance = nothing
) -> Array:
    """(n, 3 * types): F, precision and recall of each type, type by type; NaN where there is no reference.

    Sentences are lines.
    """
    vocabulary = _Vocabulary(rules)
    rows = np.full((len(outputs), 3 * len(rules.types)), np.nan)
    for row, output, refs in zip(rows, outputs, references, strict=True):
        ours, theirs = _Text(output, vocabulary, rules), [_Text(reference, vocabulary, rules) for reference in refs]
        for i, type_ in enumerate(rules.types if theirs else ()):
            counts = [_count(type_, reference, ours, rules) for reference in theirs]
            row[3 * i : 3 * i + 3] = _score(counts, type_, rules)
        advance(1)
    return rows


def read_stopwords(path: str | PathLike[str]) -> frozenset[str]:
    """One word per line, taken as it stands: one with a capital never matches. Lines may end as on Windows."""
    try:
        return frozenset(Path(path).read_text(encoding="utf-8").split("\n"))
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror or error}; expected a file of stop words, one per line") from error
    except UnicodeDecodeError as error:
        raise HarnessError(f"{path} is not UTF-8 at byte {error.start}; expected stop words, one per line") from error


# ---------------------------------------------------------------- counts of one reference


def _score(counts: Sequence[Counts], type_: str, rules: Rules) -> tuple[float, float, float]:
    """(F, precision, recall) of an output from its counts with each reference."""
    if rules.references == "best":
        hits, wanted, produced, _ = max(counts, key=lambda count: count[3])
    else:
        hits, wanted, produced, _ = map(sum, zip(*counts, strict=True))
    power = 1 / rules.weight if type_ == "rougeW" else 1.0
    precision, recall = _ratio(hits, produced) ** power, _ratio(hits, wanted) ** power
    p, r = round(precision, 5), round(recall, 5)
    below = (1 - rules.alpha) * p + rules.alpha * r
    return (p * r / below if below > 0 else 0.0), precision, recall


def _count(type_: str, reference: _Text, output: _Text, rules: Rules) -> Counts:
    if type_ in ("rougeL", "rougeW"):
        return _subsequences(reference, output, rules.weight if type_ == "rougeW" else None)
    a, b = reference.tokens, output.tokens
    if type_ in ("rougeS", "rougeSU"):
        reach = len(a) + len(b) if rules.skip < 0 else rules.skip + 1
        if reference.pairs is None:  # kept for the other of S and SU: a reference is read anew for each output
            reference.pairs = _skip_hits(a, b, reach)
        hits, wanted, produced = reference.pairs, _pairs(len(a), reach), _pairs(len(b), reach)
        if type_ == "rougeSU":  # without the last word: the script's loop ends where no bigram can start
            hits += (Counter(a[:-1]) & Counter(b[:-1])).total()
            wanted, produced = wanted + len(a[:-1]), produced + len(b[:-1])
    else:
        n = int(type_.removeprefix("rouge"))
        hits = (reference.ngrams(n) & output.ngrams(n)).total()
        wanted, produced = max(len(a) - n + 1, 0), max(len(b) - n + 1, 0)
    return hits, wanted, produced, round(_ratio(hits, wanted), 5)  # rounded: of equals, the first reference is the best


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _pairs(n: int, reach: int) -> int:
    """How many pairs of n words are at most `reach` apart."""
    k = min(reach, max(n - 1, 0))
    return k * n - k * (k + 1) // 2


def _skip_hits(a: list[int], b: list[int], reach: int) -> int:
    """How many pairs of words at most `reach` apart two texts share."""
    if reach <= 16:
        return (_near_pairs(a, reach) & _near_pairs(b, reach)).total()
    # A thousand words make half a million pairs: count by words that both texts have, a part of the table at a time.
    places = {token: i for i, token in enumerate(set(a) & set(b))}
    hits, step = 0, 1 + 4_000_000 // (len(places) + 1)
    for low in range(0, len(places), step):
        part = slice(low, low + step)
        hits += int(np.minimum(_far_pairs(a, places, part, reach), _far_pairs(b, places, part, reach)).sum())
    return hits


def _near_pairs(tokens: list[int], reach: int) -> Counter[tuple[int, int]]:
    return Counter(chain.from_iterable(zip(tokens, tokens[d:], strict=False) for d in range(1, reach + 1)))


def _far_pairs(tokens: list[int], places: dict[int, int], part: slice, reach: int) -> Ids:
    """(places, part): how often a word of `part` stands at most `reach` after each word."""
    numbers = [places.get(token, -1) for token in tokens]
    after = np.zeros(len(places), np.int64)
    ours = after[part]
    table = np.zeros((len(places), len(ours)), np.int64)
    for i in reversed(range(len(numbers))):
        if i + reach + 1 < len(numbers) and numbers[i + reach + 1] >= 0:
            after[numbers[i + reach + 1]] -= 1
        if numbers[i] >= 0:
            table[numbers[i]] += ours
            after[numbers[i]] += 1
    return table


def _subsequences(reference: _Text, output: _Text, weight: float | None) -> Counts:
    """ROUGE-L, or W with a weight."""
    power = 1.0 if weight is None else weight
    longest = max(map(len, reference.lines), default=0)
    worth = [float(k) ** power for k in range(longest + 1)]
    marks = _marks(reference, output, worth)
    budget = Counter(reference.tokens) & Counter(output.tokens)  # a word counts as often as both texts have it
    words, runs, base, start = 0, 0.0, 0.0, 0
    for line in reference.lines:
        marked = [*marks[start : start + len(line)], False]
        run = 0
        for i, token in enumerate(line):
            if marked[i] and budget[token] > 0:
                budget[token] -= 1
                words += 1
                run += 1
                if not marked[i + 1]:  # only a word that counts ends a run: past one that is used up, the run goes on
                    runs, run = runs + worth[run], 0
        base += worth[len(line)]
        start += len(line)
    produced = len(output.tokens)
    if weight is None:
        return words, base, produced, _ratio(words, base)
    return runs, base**weight, produced**weight, _ratio(runs, base) ** (1 / weight)  # base: raised for the second time


def _marks(reference: _Text, output: _Text, worth: list[float]) -> list[int]:
    """Which of the reference's words, in all lines, lie on the best common subsequence with any line of the output."""
    from harness.metrics import kernels

    (a, ends, rows), (b, others, columns) = reference.flat, output.flat
    block = max(rows, 1) if rows * columns <= _CELLS else int(4 * rows**0.5)  # so moves and checkpoints weigh the same
    best = np.zeros((-(-rows // block) + 1, columns + 1))
    up, marked = np.zeros((block, columns), np.uint8), np.zeros(len(a), np.int64)
    kernels.mark(a, ends, b, others, np.array(worth), best, np.zeros(best.shape, np.int64), up, marked)
    return marked.tolist()


# ---------------------------------------------------------------- reading


class _Text:
    """A text's tokens as integers: all of them, and line by line."""

    def __init__(self, text: str, vocabulary: _Vocabulary, rules: Rules) -> None:
        sentences = [s for s in text.encode("utf-8", "surrogatepass").split(b"\n") if s]
        if rules.max_words:
            sentences = _first_words(sentences, rules.max_words)
        whole = _first_bytes(sentences, rules.max_bytes, 1) if rules.max_bytes else sentences
        self.tokens = vocabulary.read(b" ".join(whole))
        lines = _first_bytes(sentences, rules.max_bytes, 0) if rules.max_bytes else sentences
        self.lines = [vocabulary.read(sentence) for sentence in lines]
        self.counts: dict[int, Counter[Any]] = {}
        self.pairs: int | None = None

    @cached_property
    def flat(self) -> tuple[Ids, Ids, int]:
        """Tokens of all lines, where each line ends, and the length of the longest."""
        lengths = [len(line) for line in self.lines]
        tokens = np.array([*chain.from_iterable(self.lines)], np.int64)
        return tokens, np.cumsum(lengths, dtype=np.int64), max(lengths, default=0)

    def ngrams(self, n: int) -> Counter[Any]:
        if n not in self.counts:
            self.counts[n] = Counter(zip(*(self.tokens[i:] for i in range(n)), strict=False))
        return self.counts[n]


def _first_words(sentences: list[bytes], limit: int) -> list[bytes]:
    kept = []
    for sentence in sentences:
        words = re.split(rb"\s+", sentence.rstrip()) if sentence.strip() else []  # Perl's: a leading blank is a word
        kept.append(b" ".join(words[:limit]))
        limit -= len(words)
        if limit <= 0:
            break
    return kept


def _first_bytes(sentences: list[bytes], limit: int, counted: int) -> list[bytes]:
    """`counted` is 0 for ROUGE-L and W, which forget the sentences before."""
    kept = []
    for sentence in sentences:
        kept.append(sentence[:limit])
        if len(sentence) >= limit:
            break
        limit -= len(sentence) * counted
    return kept


class _Vocabulary(dict[str, int]):
    """Words to numbers, equal for words that count as equal; -1 for stop words."""

    def __init__(self, rules: Rules) -> None:
        self.rules, self.stems = rules, dict[str, int]()
        self.split = word_splitter() if rules.unicode else _WORD.findall
        self.encoding = "utf-8" if rules.unicode else "latin-1"  # of which no other letter becomes an ASCII one
        self.snowball = stemmer(rules.language) if rules.language else None

    def read(self, text: bytes) -> list[int]:
        words = self.split(text.decode(self.encoding, "replace").lower())
        return [token for token in map(self.__getitem__, words) if token >= 0]

    def __missing__(self, word: str) -> int:
        self[word] = -1 if word in self.rules.stopwords else self.stems.setdefault(self.stem(word), len(self.stems))
        return self[word]

    def stem(self, word: str) -> str:
        if self.snowball is not None:
            return self.snowball(word)
        return _stem(word) if self.rules.stemmer and len(word) > 3 else word


_WORD = re.compile(r"[a-z0-9]+")
_CONSONANTS, _VOWELS = "[^aeiou][^aeiouy]*", "[aeiouy][aeiou]*"
_SYLLABLE = f"(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}"
_has_vowel = re.compile(f"(?:{_CONSONANTS})?[aeiouy]").match
_measure_over_0 = re.compile(_SYLLABLE).match
_measure_1 = re.compile(f"{_SYLLABLE}(?:{_VOWELS})?").fullmatch
_measure_over_1 = re.compile(f"{_SYLLABLE}{_VOWELS}{_CONSONANTS}").match
_short = re.compile(f"{_CONSONANTS}[aeiouy][^aeiouwxy]").fullmatch
_double = re.compile(r"([^aeiouylsz])\1\Z").search


def _endings(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{pattern})\Z")


def _replacements(rules: str) -> tuple[re.Pattern[str], dict[str, str]]:
    table = dict(rule.split(":") for rule in rules.split())
    return _endings("|".join(table)), table


_STEP_1 = _endings("ed|ing")
_STEPS_2_AND_3 = (
    _replacements(
        "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
        "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log"
    ),
    _replacements("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"),
)
# One after the other, where Porter removes the longest only: `governmental` loses -al and -ment.
_STEP_4 = (
    _endings("al|ance|ence|er|ic|able|ible|ant|ement|ou|ism|ate|iti|ous|ive|ize"),
    _endings("ment"),
    _endings("ent|(?<=[st])ion"),
)


def _stem(word: str) -> str:
    """The script's variant of Porter (1980), of a word in small letters and digits."""
    w = "Y" + word[1:] if word[0] == "y" else word  # a capital is no vowel
    if w.endswith(("sses", "ies")):
        w = w[:-2]
    elif w.endswith("s") and not w.endswith("ss"):
        w = w[:-1]
    if w.endswith("eed"):
        w = w[:-1] if _measure_over_0(w[:-3]) else w
    elif (ending := _STEP_1.search(w)) and _has_vowel(w[: ending.start()]):
        w = w[: ending.start()]
        if w.endswith(("at", "bl", "iz")):
            w += "e"
        elif _double(w):
            w = w[:-1]
        elif _short(w):
            w += "e"
    if w.endswith("y") and _has_vowel(w[:-1]):
        w = w[:-1] + "i"
    for endings, replacements in _STEPS_2_AND_3:
        if (ending := endings.search(w)) and _measure_over_0(w[: ending.start()]):
            w = w[: ending.start()] + replacements[ending[0]]
    for endings in _STEP_4:
        if (ending := endings.search(w)) and _measure_over_1(w[: ending.start()]):
            w = w[: ending.start()]
    if w.endswith("e") and (_measure_over_1(w[:-1]) or (_measure_1(w[:-1]) and not _short(w[:-1]))):
        w = w[:-1]
    if w.endswith("ll") and _measure_over_1(w):
        w = w[:-1]
    return w.lower()
