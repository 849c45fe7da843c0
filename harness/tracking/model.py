"""`system=mlflow system.model=models:/summarizer/3`: a model in MLflow, through its pyfunc flavour.

A version (`models:/NAME/3`), an alias (`models:/NAME@champion`), a model of a run (`runs:/RUN_ID/NAME`) or a logged
model (`models:/m-…`). The model is given prompts, made by a Jinja template over the example's fields: as a plain list,
or as a data frame with one column, `input`, by default the only column of the model's signature. It returns a text for
each, or the text is the column or field `output`. What it raises is the error of that example; a batch that raised is
asked again example by example.

The identity is the model's uuid, which MLflow makes anew whenever a model is logged; an alias is looked up first. The
run in MLflow is linked to the model: it is an input of the run, and the scores stand on the model's own page.
This system lives here, not in systems/, because nothing else may import mlflow.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.inputs import files, functions
from harness.inputs.project import runs_folder
from harness.inputs.prompts import Prompt
from harness.tracking.backend import default_uri, quiet
from harness.types import Example, HarnessError, Output, System, check_least
from harness.types.shown import counted

VERSION = 1


class MlflowModel(System):
    def __init__(
        self,
        model: str,
        name: str | None = None,
        uri: str | None = None,
        prompt: str = "{{ source }}",
        input: str | None = None,
        output: str | None = None,
        params: Mapping[str, Any] | None = None,
        batch_size: int = 16,
    ) -> None:
        """`uri`: the store that has the model; by default the one that runs are logged to by default."""
        if not model.startswith(("models:/", "runs:/")):
            raise HarnessError(
                f"system.model={model}; expected models:/NAME/3, models:/NAME@ALIAS or runs:/RUN_ID/NAME"
            )
        check_least("system.batch_size", batch_size)
        self.model, self.uri = model, uri or default_uri(runs_folder())
        self.name = name or model.partition(":/")[2].strip("/").replace("/", "-")
        self.prompt = Prompt(prompt)
        self.input, self.output, self.params, self.batch_size = input, output, dict(params or {}), batch_size
        self._failed = functions.Failed(model)

    @cached_property
    def _resolved(self) -> tuple[str, Any]:
        """(where the model is, without an alias, what MLflow knows of it)."""
        path = Path(self.uri.removeprefix("sqlite:///"))
        if self.uri.startswith("sqlite:///") and not path.exists():  # MLflow would make an empty one
            raise HarnessError(
                f"there is no MLflow store {path}; expected the store that has {self.model} (system.uri)"
            )
        with _store(self.uri):
            from mlflow import MlflowClient
            from mlflow.models import get_model_info

            try:
                where = self.model
                if where.startswith("models:/") and "@" in where:
                    name, _, alias = where.removeprefix("models:/").rpartition("@")
                    where = f"models:/{name}/{MlflowClient().get_model_version_by_alias(name, alias).version}"
                return where, get_model_info(where)
            except Exception as error:
                raise HarnessError(
                    f"system.model={self.model} cannot be read: {str(error)[:500]} (in the MLflow store "
                    f"{self.uri.rsplit('@')[-1]}); expected a model that is there (system.uri chooses another store)"
                ) from error

    @cached_property
    def _model(self) -> Any:
        where = self._resolved[0]
        with _store(self.uri):
            import mlflow

            try:
                return mlflow.pyfunc.load_model(where)
            except Exception as error:
                raise HarnessError(
                    f"system.model={self.model} cannot be loaded ({type(error).__name__}: {str(error)[:500]}); "
                    "expected a model with the pyfunc flavour, and the packages that its requirements.txt names"
                ) from error

    def key(self) -> str | None:
        uuid = self._resolved[1].model_uuid
        options = [self.prompt.template, self.input, self.output, self.params, self.batch_size]
        return files.digest(["mlflow", VERSION, uuid, options]) if uuid else None

    def about(self) -> dict[str, str]:
        where, info = self._resolved
        known = {"model": where, "model_uuid": info.model_uuid, "model_id": info.model_id, "model_run_id": info.run_id}
        return {name: str(value) for name, value in known.items() if value}

    def seen(self, example: Example) -> str:
        return self.prompt(example)

    def generate(self, batch: Sequence[Example]) -> list[Output]:
        return functions.together(self._predict, [self.prompt(example) for example in batch], self._failed)

    def _predict(self, prompts: list[str]) -> list[Output]:
        import pandas as pd

        column = self.input or self._column()
        data = prompts if column is None else pd.DataFrame({column: prompts})
        answers = self._model.predict(data, params=self.params or None)
        if isinstance(answers, pd.DataFrame):
            columns = [str(name) for name in answers.columns]
            if self.output not in columns and len(columns) != 1:
                raise HarnessError(
                    f"{self.model} returned the columns {', '.join(columns)}; expected system.output=ONE_OF_THEM"
                )
            answers = answers[self.output if self.output in columns else columns[0]]
        answers = answers.tolist() if hasattr(answers, "tolist") else answers
        if not isinstance(answers, list) or len(answers) != len(prompts):
            shown = f"a list of {len(answers)}" if isinstance(answers, list) else functions.kind(answers)
            raise HarnessError(
                f"{self.model} returned {shown}; expected {counted(len(prompts), 'text')}, one for each prompt"
            )
        return [self._output(answer) for answer in answers]

    def _column(self) -> str | None:
        """The only column that the model's signature names; None where it names none."""
        inputs = self._model.metadata.get_input_schema()
        names = [str(name) for name in inputs.input_names()] if inputs is not None and inputs.has_input_names() else []
        if len(names) > 1:
            raise HarnessError(f"{self.model} takes the columns {', '.join(names)}; expected system.input=ONE_OF_THEM")
        return names[0] if names else None

    def _output(self, answer: Any) -> Output:
        if isinstance(answer, Mapping) and self.output in answer:
            answer = answer[self.output]
        if isinstance(answer, str):
            return Output(answer)
        hint = f" with the field {self.output}" if self.output else ", or system.output=FIELD"
        return Output(None, f"{self.model} returned {functions.kind(answer)}; expected a text{hint}")


@contextmanager
def _store(uri: str) -> Iterator[None]:
    """pyfunc reads from the store of the process only: it is this one for as long as needed."""
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice to those who write models, and to MLflow itself
        import mlflow.pyfunc

        quiet()
        before = mlflow.get_tracking_uri() if mlflow.tracking.is_tracking_uri_set() else None
        mlflow.set_tracking_uri(uri)
        try:
            yield
        finally:
            mlflow.set_tracking_uri(before)
