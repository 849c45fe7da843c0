"""The typed core of the config: every key of its top level, and what each of them decides.

What a key decides is a flag of its field, so that one place says which runs are the same run:

- `result`: what is computed. These keys make the config's key, by which a run finds its folder again.
- `place`: what a run is called and where it goes.
- `manner`: how the work is done (how often a request is tried, what is printed), never what comes out of it.

>>> deciding("place")
('tracking', 'name', 'output_dir', 'group', 'group_by', 'sweep')
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Optional

DECIDES = "decides"
PLACE, MANNER = {DECIDES: "place"}, {DECIDES: "manner"}


@dataclass
class StatsConfig:
    resamples: int = 10_000
    level: float = 0.95
    method: str = "auto"
    seed: int = 12345
    strata: Optional[str] = None  # noqa: UP045  (OmegaConf reads this form)
    repeats: str = "independent"
    units: str = "auto"
    buckets: int = 16_384
    slices: list[str] = field(default_factory=list)


@dataclass
class StopConfig:
    score: Optional[str] = None  # noqa: UP045
    width: Optional[float] = None  # noqa: UP045
    threshold: Optional[float] = None  # noqa: UP045
    baseline: Optional[str] = None  # noqa: UP045
    batch: int = 50


@dataclass
class TrackingConfig:
    _target_: str = "harness.tracking.none.NoTracking"
    experiment: Optional[str] = None  # noqa: UP045
    uri: Optional[str] = None  # noqa: UP045
    subscores: Any = False
    parents: Any = True
    traces: int = 0
    under: Optional[str] = None  # noqa: UP045


@dataclass
class Config:
    """The top level; conf/config.yaml says what each key means.

    Flags are not declared `bool`: OmegaConf takes any number for one. `harness run` refuses what is no flag.
    """

    dataset: Any = None
    system: Any = None
    postprocess: Any = None
    metrics: Any = None
    stats: StatsConfig = field(default_factory=StatsConfig)
    stop: StopConfig = field(default_factory=StopConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig, metadata=PLACE)
    engine: Any = field(default=None, metadata=MANNER)
    name: Optional[str] = field(default=None, metadata=PLACE)  # noqa: UP045
    limit: Optional[int] = None  # noqa: UP045
    output_dir: Optional[str] = field(default=None, metadata=PLACE)  # noqa: UP045
    group: Optional[str] = field(default=None, metadata=PLACE)  # noqa: UP045
    group_by: Optional[str] = field(default=None, metadata=PLACE)  # noqa: UP045
    sweep: Any = field(default=None, metadata=PLACE)
    race: Any = field(default=None, metadata=MANNER)
    retry_failed: Any = field(default=False, metadata=MANNER)
    max_failed: Any = field(default=None, metadata=MANNER)
    cache: str = field(default="auto", metadata=MANNER)
    cache_gb: float = field(default=4.0, metadata=MANNER)
    objective: Any = field(default=None, metadata=MANNER)
    dry_run: Any = field(default=False, metadata=MANNER)
    watch: Any = field(default=False, metadata=MANNER)
    watch_until: Optional[int] = field(default=None, metadata=MANNER)  # noqa: UP045
    watch_idle: Optional[float] = field(default=None, metadata=MANNER)  # noqa: UP045
    json: Any = field(default=False, metadata=MANNER)
    progress: Any = field(default=True, metadata=MANNER)


def deciding(*decided: str) -> tuple[str, ...]:
    """The keys that decide these: `result`, `place`, `manner`."""
    return tuple(key.name for key in fields(Config) if key.metadata.get(DECIDES, "result") in decided)
