"""Text of users and models as HTML: always text, never markup, and characters that nobody sees made visible.

A right-to-left override or a zero-width space in a name could otherwise make one thing look like another. The same rule
for the texts that the browser puts on the page stands in script/text.js.

>>> str(visible("a\\u202e<b>"))
'<bdi>a<span class="unseen" title="U+202E">RLO</span>&lt;b&gt;</bdi>'
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from harness.report.page.packed import clean

NAMES = {
    0x00AD: "SHY", 0x061C: "ALM", 0x180E: "MVS", 0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM",
    0x200F: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO",
    0x202E: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip
# joiners are part of many scripts and of emoji: odd only after ASCII
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\U000e0000-\U000e007f]|(?<=[\x00-\x7f])[\u200c\u200d]"
)


def visible(text: object, direction: str = "") -> Markup:
    """The text in a direction of its own, that of its first letter unless it is said: an English sentence that begins
    with an Arabic name is read from the left."""
    whole = clean(str(text))
    parts, place = [], 0
    for match in _UNSEEN.finditer(whole):
        code = ord(match.group())
        parts += [escape(whole[place : match.start()]), _mark(code)]
        place = match.end()
    opened = Markup('<bdi dir="{}">').format(direction) if direction else Markup("<bdi>")
    return opened + Markup("").join([*parts, escape(whole[place:])]) + Markup("</bdi>")


def _mark(code: int) -> Markup:
    return Markup('<span class="unseen" title="U+{}">{}</span>').format(f"{code:04X}", NAMES.get(code, f"{code:04X}"))
