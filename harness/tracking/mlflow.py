"""`tracking=mlflow`: a run folder as a run in MLflow.

Scores are logged under their names (logged_numbers.py), with parameters and tags (labelling.py) in as few calls as
MLflow allows; the data set as an input; the folder's files as artifacts (filling.py). A run whose result is in the
store already is not logged again; one that is there in part is completed. Runs of one group (a multirun) are nested
under one parent run, those of a training run's checkpoints under one that has their curve, seeds of a system
(`group_by`) under one that has them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from harness.inputs.files import digest, file_digest
from harness.inputs.project import runs_folder
from harness.tracking import (
    backend,
    claim,
    content,
    curve_parent,
    known,
    labelling,
    opening_view,
    parents,
    seed_parent,
    surrounding,
)
from harness.tracking.backend import default_uri, reachable
from harness.tracking.filling import ARTIFACTS, Filling, Task, Wanted
from harness.tracking.known import Nested
from harness.tracking.parents import Parent
from harness.tracking.surrounding import DEFAULT
from harness.tracking.traces import MAX_TRACES
from harness.tracking.traces import TAG as TRACES
from harness.types import HarnessError, Outcome, RunRecord, RunResult, Tracked

RESULT = ("scores.json", "statistics.parquet", "examples.parquet")
SECONDS, BYTES_A_SECOND, TRACES_A_SECOND, ATTEMPTS = 60, 2**20, 10, 4


class MlflowTracker:
    def __init__(
        self,
        experiment: str | None = None,
        uri: str | None = None,
        subscores: bool = False,
        parents: bool = True,
        traces: int = 0,
        under: str | None = None,
    ) -> None:
        """`under`: the id of a run that those logged here, or their parents, are nested under."""
        experiment = DEFAULT if experiment is None else experiment
        if not experiment.strip():
            raise HarnessError("tracking.experiment is empty; expected a name")
        if not 0 <= traces <= MAX_TRACES:
            raise HarnessError(f"tracking.traces={traces}; expected 0 to {MAX_TRACES:,}: a trace an example")
        self.runs = runs_folder()
        self.experiment = experiment
        self.uri = uri or default_uri(self.runs)
        self.wanted, self.parents, self.under = Wanted(subscores, traces), parents, under
        self.anonymous = False
        """Whether no credentials go there: the store of a run folder that was trusted."""
        backend.check_uri(self.uri)

    def log(self, run: RunResult, group: str | None) -> Tracked:
        """Logs a stored run; raises whatever MLflow raises, for the caller to turn into a warning."""
        with backend.anonymous() if self.anonymous else nullcontext():
            return self._log(run, group)

    def _log(self, run: RunResult, group: str | None) -> Tracked:
        assert run.path is not None
        result = digest([file_digest(run.path / name) for name in RESULT])
        where = {"harness.key": run.manifest["key"][: labelling.SHORT], "harness.result": result[: labelling.SHORT]}
        group = None if group is None else parents.plain(group)
        earlier = run.manifest["mlflow"]
        whole = {**where, **({TRACES: str(self.wanted.traces)} if self.wanted.traces else {})}
        if earlier is not None and known.logged(
            self.uri, self.experiment, earlier["run_id"], whole, Nested(group, self.under)
        ):
            return Tracked(earlier["run_id"], self.uri, earlier.get("where", earlier["run_id"]), "already there")
        reachable(self.uri)
        sizes = [(run.path / name).stat().st_size for name in ARTIFACTS if (run.path / name).exists()]
        with backend.bounded(max(sizes)), backend.alone(self.uri):
            # waiting for others does not count
            until = time.monotonic() + SECONDS + sum(sizes) / BYTES_A_SECOND + self.wanted.traces / TRACES_A_SECOND
            client = backend.opened(self.uri)
            experiment = backend.experiment(client, self.uri, self.experiment, self.runs / "mlartifacts")
            task = Task(run, where, result, until, self.wanted, surrounding.there(client, self.uri, self.under))
            run_id, how = self._settled(client, experiment.experiment_id, task, group)
            view = opening_view.widened(experiment.tags, opening_view.columns_of(run))
            if view is not None:
                opening_view.keep(client, experiment.experiment_id, view)
        return Tracked(run_id, self.uri, self._page(experiment.experiment_id, run_id), how)

    def _settled(self, client: Any, experiment: str, task: Task, group: str | None) -> tuple[str, str]:
        """(run id, how it came to be there): logged, and then still the one run with these tags.

        Others may log the same at the same time and delete what they find to be a double, this one too: then again.
        """
        from mlflow.exceptions import MlflowException

        how = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                run_id, outcome, settled = self._once(client, experiment, task, group)
            except MlflowException:
                reachable(self.uri)  # else there is no use in going on
                if attempt == ATTEMPTS or time.monotonic() > task.until:
                    raise
            else:
                how = outcome if how in ("", "already there") else how
                if settled:
                    return run_id, how
        raise RuntimeError(f"others log the same run to {self.experiment!r} all the time")

    def _once(self, client: Any, experiment: str, task: Task, group: str | None) -> tuple[str, str, bool]:
        """(run id, what was done, whether it is the one run with these tags)."""
        run = task.run
        start = content.milliseconds(run.manifest["started"])
        above = parents.parent_of(run, group)
        parent = above.claimed(client, experiment, start, task.under)[-1] if above else task.under
        tags = {**task.where, **parents.below(parent)}
        entry, made = claim.only(client, experiment, tags, labelling.name_of(run), start)
        run_id = str(entry.info.run_id)
        if above is not None and parent is not None and curve_parent.series_of(run):
            curve_parent.log_point(client, parent, run, self.wanted.subscores)
        elif above is not None and parent is not None and (seed := seed_parent.seed_of(run)):
            seed_parent.log_seed(client, parent, run, seed[2])
        added = Filling(client, self.uri, entry, task).fill()
        outcome = "logged" if made else "completed" if added else "already there"
        now = above.claimed(client, experiment, start, task.under)[-1] if above else task.under
        if now is not None and now != parent:
            client.set_tag(run_id, claim.PARENT, now)
            return run_id, outcome, False
        return run_id, outcome, claim.alone(client, experiment, tags, run_id)

    def log_outcome(self, runs: Sequence[RunRecord], parent: Parent, make: Callable[[], Outcome]) -> bool:
        """Puts on the page of the parent of stored runs what came out of them, where it is not there; whether it was
        not. `make` makes it, which takes seconds."""
        of = parents.results_of([run.manifest for run in runs])
        if self._there({**dict(parent.tags), parents.OUTCOME: of}):
            return False
        with backend.anonymous() if self.anonymous else nullcontext():
            reachable(self.uri)
            outcome = make()
            start = min(content.milliseconds(run.manifest["started"]) for run in runs)
            with backend.bounded(max(map(len, outcome.files.values()))), backend.alone(self.uri):
                client = backend.opened(self.uri)
                experiment = backend.experiment(client, self.uri, self.experiment, self.runs / "mlartifacts")
                under = surrounding.there(client, self.uri, self.under)
                run_id = parent.claimed(client, experiment.experiment_id, start, under)[-1]
                if client.get_run(run_id).data.tags.get(parents.OUTCOME) == of:
                    return False
                parents.log_outcome(client, run_id, outcome, of)
        return True

    def _there(self, tags: Mapping[str, str]) -> bool:
        """Whether the store has a run with these tags."""
        if backend.sqlite_file(self.uri) is not None:
            return known.tagged(self.uri, self.experiment, tags)
        with backend.anonymous() if self.anonymous else nullcontext():
            reachable(self.uri)
            with backend.bounded(0):
                client = backend.opened(self.uri)
                experiment = client.get_experiment_by_name(self.experiment)
                return experiment is not None and bool(claim.matching(client, experiment.experiment_id, tags))

    def _page(self, experiment: str, run_id: str) -> str:
        if self.uri.startswith("http"):
            return f"{self.uri.rstrip('/')}/#/experiments/{experiment}/runs/{run_id}"
        return f"{run_id} in {self.uri}"
