"""`dataset.version=7130e266` as it is typed: a piece of a hash may look like a number, which Hydra would make of it.

>>> quoted(["dataset.version=7130e266", "system.revision=1234567", "system.seed=1", "dataset.version=b658"])
["dataset.version='7130e266'", "system.revision='1234567'", 'system.seed=1', 'dataset.version=b658']
"""

from __future__ import annotations

import re
from collections.abc import Sequence

OPTION = r"\+{0,2}(dataset\.version|(system|metrics\.[^.=\s]+)\.revision)"
NUMERIC = re.compile(rf"(?P<option>{OPTION})=(?P<value>\d+(e\d+)?)")


def quoted(overrides: Sequence[str]) -> list[str]:
    """With quotes around versions and revisions that look like numbers."""
    matches = ((override, NUMERIC.fullmatch(override)) for override in overrides)
    return [f"{match['option']}='{match['value']}'" if match else override for override, match in matches]
