"""The line of a table by which `harness verify` makes it again: which runs, which scores, how shown and how tested.

It stands among the comments of a Markdown or LaTeX table, as JSON:

>>> line({"runs": [{"name": "a --> b"}]})
'harness-table {"runs": [{"name": "a --\\\\u003e b"}]}'
>>> blocks("text\\n% " + line({"schema": 1}))
[(2, {'schema': 1})]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.report.tables.notes import origin
from harness.types import RunResult

WORD = "harness-table"
PATTERN = re.compile(rf"^[%\s]*{WORD} (\{{.*)$")


def line(trace: Mapping[str, Any]) -> str:
    return f"{WORD} {json.dumps(trace).replace('>', chr(92) + 'u003e')}"


def blocks(text: str) -> list[tuple[int, dict[str, Any]]]:
    """(number of the line from 1, what it says) of each such line; nothing where it is no JSON any more."""
    traces = []
    for number, row in enumerate(text.splitlines(), 1):
        if match := PATTERN.match(row):
            try:
                content = json.loads(match[1])
            except ValueError:
                content = {}
            traces.append((number, content))
    return traces


def run(result: RunResult) -> dict[str, Any]:
    """What leads back to a run, and tells whether it is still the same."""
    made = result.manifest
    return {
        **{name: value for name, value in origin(result).items() if name in ("run", "folder", "key") and value},
        "system": result.system,
        "scores": str((made.get("files") or {}).get("scores.json", ""))[:16],
        **({"members": list(made["runs"])} if not result.path and made.get("runs") else {}),
    }
