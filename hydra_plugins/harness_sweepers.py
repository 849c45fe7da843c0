"""`hydra/sweeper=harness`: optimising, by Optuna; `hydra/sweeper=race`: a grid whose bad cells are dropped early.

Hydra imports what is in `hydra_plugins` to see what there is, so that nothing but the options is here; the work is done
in harness/cli/hydra/optimising.py and rounds_of_cells.py.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional  # noqa: UP035  (OmegaConf reads these forms)

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper


@dataclass
class HarnessSweeperConf:
    """The options; docs/sweeps.md explains them."""

    _target_: str = "hydra_plugins.harness_sweepers.HarnessSweeper"
    sampler: str = "tpe"
    trials: Optional[int] = 20  # noqa: UP045
    at_once: int = 1
    seed: int = 0
    study: Optional[str] = None  # noqa: UP045
    storage: Optional[str] = None  # noqa: UP045
    options: Dict[str, Any] = field(default_factory=dict)  # noqa: UP006
    params: Optional[Dict[str, str]] = None  # noqa: UP006, UP045


@dataclass
class RaceConf:
    """The options; docs/sweeps.md explains them."""

    _target_: str = "hydra_plugins.harness_sweepers.RaceSweeper"
    error: float = 0.05
    params: Optional[Dict[str, str]] = None  # noqa: UP006, UP045


class Launching(Sweeper):  # type: ignore[misc]  # Hydra has no types here
    """A sweeper with the launcher that was chosen; Hydra takes none that has no `sweep` for a plug-in."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.config: Any = None
        self.launcher: Any = None
        self.hydra_context: Any = None

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        from hydra.core.plugins import Plugins

        self.config, self.hydra_context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )


class HarnessSweeper(Launching):
    """Trials of a study, one batch after the other."""

    def sweep(self, arguments: list[str]) -> Any:
        from harness.cli.hydra.optimising import optimise

        return optimise(self, arguments)


class RaceSweeper(Launching):
    """Rounds of a grid, each with the cells that are not known to be worse than the leader."""

    def sweep(self, arguments: list[str]) -> Any:
        from harness.cli.hydra.rounds_of_cells import raced

        return raced(self, arguments)


for name, node in (("harness", HarnessSweeperConf), ("race", RaceConf)):
    if f"{name}.yaml" not in ConfigStore.instance().repo.get("hydra", {}).get("sweeper", {}):  # Hydra imports it twice
        ConfigStore.instance().store(group="hydra/sweeper", name=name, node=node, provider="harness")
