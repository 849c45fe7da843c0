"""Text that breaks tokenizers and counters, for property tests against the reference implementations."""

from __future__ import annotations

from hypothesis import strategies as st

WHITE = [chr(c) for c in range(0x110000) if chr(c).isspace()]
PIECES = [
    *WHITE, "", " ", "\n", "\n\n", "-\n", "\r\n", "\u200b", "\ufeff", "\x00",
    "a", "b", "the", "The", "THE", "cat", "cats", "running", "runs", "generalizations", "ponies", "skies", "dying",
    "a.b", "a..b", "...", ".", ",", ",,", ".,", "5.", ".5", "3.5", "1,000", "1,000.50", "5-", "-5", "5-6", "a-b", "--",
    "5%.5", "5..", "+.5", "$5.", "2.a", "a.2", "٣.٥", "½.", "²,", "Ⅷ.",
    "'", '"', "''", "``", "“", "”", "’", "can't", "don’t", "«", "»", "(", ")", "(hi)", "[x]", "{y}", "_", "a_b", "!?",
    "&", "&quot;", "&amp;", "&amp;lt;", "&amp;amp;gt;", "&lt;", "&gt;", "&apos;", "<skipped>", "<skip", "<ski<skipped>pped>",
    "é", "e\u0301", "\u0301", "ção", "Straße", "ﬁ", "İ", "ı", "K", "ſ", "Σ", "ΑΣ", "ΑΣ Α", "ǅ", "ŉ", "Ω", "Å",
    "שלום", "مرحبا", "\u202eabc\u202c", "नमस्ते", "สวัสดี", "한국어", "안녕 하세요", "ひらがな", "カタカナ", "ｶﾀｶﾅ", "日本語です。",
    "中", "中文", "，", "。", "你好，世界", "𠀀", "\u2e80", "—", "–", "→", "€", "™", "☃", "✓",
    "👍", "👍🏽", "👨‍👩‍👧", "🇩🇪", "\U0010ffff", "\ue000", "\uffff", "\ufffd", "\u0378", "\U0001f9ff",
]  # fmt: skip

texts = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
    st.lists(st.sampled_from(["a", "b", "c", "d", ".", ",", "1", "-"]), max_size=40).map(" ".join),
    st.tuples(st.sampled_from(PIECES), st.integers(1, 400)).map(lambda x: (x[0] + " ") * x[1]),
)
"""Empty, white space of every kind, digits beside punctuation, entities, emoji, marks, both directions, many repeats."""

lines = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e", "the", "é"]), max_size=8).map(" ".join), max_size=4
).map("\n".join)
"""Several sentences with many ties between longest common subsequences."""


def pairs(text: st.SearchStrategy[str] = texts, most: int = 4) -> st.SearchStrategy[list[tuple[str, list[str]]]]:
    """Outputs with one to three references each."""
    return st.lists(st.tuples(text, st.lists(text, min_size=1, max_size=3)), min_size=1, max_size=most)


LONG = [
    "word " * 20_000,
    "x" * 100_000,
    "3.5, &quot;x&quot; " * 6_000,
    "中文" * 50_000,
    "é. " * 33_000,
    " ".join(f"w{i % 997}" for i in range(17_000)),
    "\u2003" * 100_000,
]
"""Lines of 100,000 characters."""
