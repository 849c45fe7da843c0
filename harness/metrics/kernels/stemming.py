"""Porter's stemmer (1980) as NLTK has it, with NLTK's own extensions, on words of small ASCII letters and digits."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from harness.compiled import compiled
from harness.metrics.kernels.tokens import SHORT

NINE = ord("9")
E, LETTER_I, L, S, T, W, X, Y, Z = b"eilstwxyz"
VOWEL = np.array([chr(c) in "aeiou" for c in range(256)])


def _code(text: str) -> int:
    """Up to eight letters as one number, the last one in its lowest bits."""
    return int.from_bytes(text.encode(), "big")


def _rules(step: int, least: int, rules: str) -> list[tuple[int, ...]]:
    pairs = (rule.split(":") for rule in rules.split())
    return [(step, least, len(old), _code(old), len(new), _code(new)) for old, new in pairs]


_RULES = [
    *_rules(2, 1, "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous"),
    *_rules(2, 1, "ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive"),
    *_rules(2, 1, "biliti:ble fulli:ful logi:log"),
    *_rules(3, 1, "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"),
    *_rules(4, 2, "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:"),
]
_IRREGULAR = (
    "skies:sky dying:die lying:lie tying:tie news:news innings:inning inning:inning outings:outing outing:outing "
    "cannings:canning canning:canning howe:howe proceed:proceed exceed:exceed succeed:succeed"
)
RULES = np.array(_RULES, np.int64)
"""Step, the least measure of what stays, the ending (its length and letters) and what comes in its place. Of a step the
first rule whose ending the word has is the one that counts, even if the measure is too small."""
IRREGULAR = np.array(_rules(0, 0, _IRREGULAR), np.int64)
"""Whole words, of more than three letters."""
ALLI, LOGI, ION, IES, SSES, IED, EED, ED, ING, AT, BL, IZ = map(
    _code, ("alli", "logi", "ion", "ies", "sses", "ied", "eed", "ed", "ing", "at", "bl", "iz")
)


@compiled
def stem(codes, low, words, sizes, rules, irregular):
    """Writes the stem of each word over it, in `codes` and `low`, and its length to `sizes`: word w has `sizes[w]`
    characters from `words[w]` on, a number that is negative where they are more than SHORT. As in rouge-score, words of
    up to three letters stay."""
    w = 0
    while w < len(words):
        size = sizes[w] if sizes[w] > 0 else -sizes[w]
        base = words[w] + 0
        if size > 3 and low[base + size - 1] > NINE:  # no rule has an ending with a digit
            size = _stemmed(low, base, size, rules, irregular)
            i = base
            while i < base + size:
                codes[i] = low[i]
                i += 1
            sizes[w] = -size if size > SHORT else size
        w += 1


@compiled
def _stemmed(low, base, size, rules, irregular):
    """The length of the stem that is written over the word of `size` characters from `base` on."""
    r = 0
    while r < len(irregular):
        if size == irregular[r, 2] and _ends(low, base, size, size, irregular[r, 3]):
            return _put(low, base, 0, irregular[r, 4], irregular[r, 5])
        r += 1
    size = _plural(low, base, size)
    size = _past(low, base, size)
    if size > 2 and low[base + size - 1] == Y and _consonant(low, base, size - 2):
        low[base + size - 1] = LETTER_I
    if _ends(low, base, size, 4, ALLI) and _measure(low, base, size - 4) > 0:
        size -= 2
    step = 2
    r = 0
    while r < len(rules):
        if rules[r, 0] == step and _ends(low, base, size, rules[r, 2], rules[r, 3]):
            rest = size - rules[r, 2]
            enough = _measure(low, base, rest + (rules[r, 3] == LOGI)) >= rules[r, 1]
            if enough and rules[r, 3] == ION:
                enough = low[base + rest - 1] == S or low[base + rest - 1] == T
            if enough:
                size = _put(low, base, rest, rules[r, 4], rules[r, 5])
            step += 1
        r += 1
        if r < len(rules) and rules[r, 0] > step:
            step = rules[r, 0] + 0
    if size > 0 and low[base + size - 1] == E:
        measure = _measure(low, base, size - 1)
        if measure > 1 or (measure == 1 and not _closed(low, base, size - 1)):
            size -= 1
    if size > 1 and low[base + size - 1] == L and low[base + size - 2] == L and _measure(low, base, size - 1) > 1:
        size -= 1
    return size


@compiled
def _plural(low, base, size):
    """Step 1a."""
    if low[base + size - 1] != S:
        return size
    if _ends(low, base, size, 3, IES):
        return size - 1 if size == 4 else size - 2
    if _ends(low, base, size, 4, SSES):
        return size - 2
    return size if low[base + size - 2] == S else size - 1


@compiled
def _past(low, base, size):
    """Step 1b."""
    if _ends(low, base, size, 3, IED):
        return size - 1 if size == 4 else size - 2
    if _ends(low, base, size, 3, EED):
        return size - 1 if _measure(low, base, size - 3) > 0 else size
    rest = size + 0
    if _ends(low, base, size, 2, ED):
        rest -= 2
    elif _ends(low, base, size, 3, ING):
        rest -= 3
    i = 0
    while i < rest and _consonant(low, base, i):
        i += 1
    if rest == size or i == rest:  # no such ending, or no vowel before it
        return size
    last = low[base + rest - 1]
    at_bl_iz = _ends(low, base, rest, 2, AT) or _ends(low, base, rest, 2, BL) or _ends(low, base, rest, 2, IZ)
    if not at_bl_iz and rest > 1 and last == low[base + rest - 2] and _consonant(low, base, rest - 1):
        return rest if last in (L, S, Z) else rest - 1
    if at_bl_iz or (_measure(low, base, rest) == 1 and _closed(low, base, rest)):
        low[base + rest] = E
        return rest + 1
    return rest


@compiled
def _ends(low, base, size, length, ending):
    """Whether a word ends in these letters, a `_code`."""
    if length > size:
        return False
    i = base + size - 1
    while i >= base + size - length:
        if low[i] != ending & 0xFF:
            return False
        ending >>= 8
        i -= 1
    return True


@compiled
def _put(low, base, size, length, ending):
    """Writes letters after the first `size` of a word; its new size."""
    i = base + size + length - 1
    while i >= base + size:
        low[i] = ending & 0xFF
        ending >>= 8
        i -= 1
    return size + length


@compiled
def _consonant(low, base, i):
    """Whether character i is one: no vowel, and no y after a consonant."""
    other = False
    while i > 0 and low[base + i] == Y:
        other = not other
        i -= 1
    return VOWEL[low[base + i]] == other


@compiled
def _measure(low, base, size):
    """How often a vowel is followed by a consonant in the first `size` characters."""
    count = 0
    before = True
    i = 0
    while i < size:
        c = low[base + i]
        consonant = not VOWEL[c]
        if c == Y and i > 0:
            consonant = not before
        if consonant and not before:
            count += 1
        before = consonant
        i += 1
    return count


@compiled
def _closed(low, base, size):
    """Whether it ends in consonant, vowel, consonant, the last no w, x or y; or is a vowel and a consonant."""
    if size == 2:
        return not _consonant(low, base, 0) and _consonant(low, base, 1)
    if size < 3:
        return False
    last = low[base + size - 1]
    return (
        _consonant(low, base, size - 3)
        and not _consonant(low, base, size - 2)
        and _consonant(low, base, size - 1)
        and last not in (W, X, Y)
    )
