"""What generating took, in a line: tokens, latency and cost, of a run whose system knows them.

>>> facts = {"input_tokens": 12345, "output_tokens": 2400, "tokens_per_second": 28.91, "cost": 0.0371}
>>> generation_line({**facts, "latency_p50": 1.204, "latency_p90": 2.31, "latency_p99": 4.0})
'12,345 tokens in, 2,400 out (28.9/s); latency 1.20 s (median), 2.31 s (90%), 4.00 s (99%); cost 0.037'
>>> generation_line({"generated": 100, "input_tokens": None, "cost": None})
''
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LATENCIES = {"latency_p50": "median", "latency_p90": "90%", "latency_p99": "99%"}


def generation_line(facts: Mapping[str, Any]) -> str:
    """Of the manifest's `generation`; empty where nothing of it is known."""
    tokens = [
        f"{facts[name]:,} {words}"
        for name, words in (("input_tokens", "tokens in"), ("output_tokens", "out"))
        if facts.get(name) is not None
    ]
    if tokens and facts.get("tokens_per_second"):
        tokens[-1] += f" ({facts['tokens_per_second']:,.1f}/s)"
    times = [f"{facts[name]:.2f} s ({words})" for name, words in LATENCIES.items() if facts.get(name) is not None]
    parts = [", ".join(tokens), f"latency {', '.join(times)}" if times else ""]
    if facts.get("cost") is not None:
        parts.append(f"cost {price(facts['cost'])}")
    return "; ".join(filter(None, parts))


def price(cost: float) -> str:
    """Two digits after the point, or two that are not 0.

    >>> price(12.5), price(0.0371), price(0.0)
    ('12.50', '0.037', '0.00')
    """
    return f"{cost:.2f}" if cost >= 0.1 or not cost else f"{cost:.2g}"
