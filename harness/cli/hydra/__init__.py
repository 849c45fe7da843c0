"""`harness run`, `harness score` and `harness merge` as a Hydra application, the only place that knows Hydra.

application.py  `harness run`: Hydra composes, a cell at a time is run
composing.py    the job that a composed config describes, after all checks
checking.py     what no key of a config can be
multirun.py     around a multirun: what its cells share, and what ends it
varied.py       what varies, told to each cell
watching.py     `watch=true`: new checkpoints, waited for
gathering.py    a multirun while it goes on: its cells, told as they end, and the end
launching.py    around any launcher: a lost cell ends no other
marks.py        what cells leave for the process that launched them
sealed.py       jobs of submitit without secrets on disk
optimising.py   `hydra/sweeper=harness`: trials of a study until as many as wanted have been tried
studies.py      the study, on Optuna: asked, told, found again
space.py        what it searches, in Hydra's syntax
rounds_of_cells.py  `hydra/sweeper=race`: a grid in rounds, after each of which the worst are dropped
ending.py       what ends a command: JSON, or what to type next
from_python.py  `harness.run(…)`: the same from Python
rescoring.py    `harness score`: the stored run's config takes the place of conf/config.yaml, overrides go on top
combining.py    `harness merge`: the same with the runs of all shards
received.py     what of that stored config is followed, which may come from anyone
versions.py     what is said differently to Hydra 1.3 and to 1.4
project_words.py  what the project file adds
version_words.py  versions and revisions that look like numbers
view_words.py   views of metrics whose YAML has none
recorded.py     `harness run --from`: a stored run's choices and overrides, composed again
hidden.py       configs that Hydra would silently not read
levels.py       `harness reproduce`: what is executed again, and whether it may be
executing.py    its level 2: data read and outputs generated again
recreating.py   its level 3: in an environment with the recorded packages
reading_yaml.py OmegaConf's reader, on libyaml
loading_once.py Hydra's loader of configs, which composes one once
calling.py      the command as it was typed
secrets.py      kept out of logs, tracebacks, the files that Hydra writes and the configs that it shows
interpolations.py  which values of a config are made of secrets or of the environment
explaining.py   every error that a user can fix as one message, a misspelt name with the nearest valid one
"""

from harness.cli.hydra.application import run
from harness.cli.hydra.combining import merge
from harness.cli.hydra.composing import job, jobs
from harness.cli.hydra.multirun import Sweep
from harness.cli.hydra.rescoring import score

__all__ = ["Sweep", "job", "jobs", "merge", "run", "score"]
