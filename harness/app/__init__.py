"""`harness run` and `harness score` as a Hydra application, the only place that knows Hydra.

application.py  `harness run`: Hydra composes, a cell at a time is run
jobs.py         the job that a composed config describes, after all checks
sweep.py        around a multirun: what its cells share, and what ends it
ending.py       what ends a command: JSON, or what to type next
rescoring.py    `harness score`: the stored run's config takes the place of conf/config.yaml, overrides go on top
calling.py      the command as it was typed, and Ctrl-C
errors.py       every error that a user can mend as one message, a misspelt name with the nearest valid one
"""

from harness.app.application import run
from harness.app.jobs import job, jobs
from harness.app.rescoring import score
from harness.app.sweep import Sweep

__all__ = ["Sweep", "job", "jobs", "run", "score"]
