"""`hydra/sweeper=race`: a grid whose bad cells are dropped early. Hydra imports what is in `hydra_plugins` to see what
there is, so that nothing but the options is here; the work is done in harness/cli/hydra/rounds_of_cells.py."""

from dataclasses import dataclass
from typing import Any, Dict, Optional  # noqa: UP035  (OmegaConf reads these forms)

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper


@dataclass
class RaceConf:
    """The options; docs/sweeps.md explains them."""

    _target_: str = "hydra_plugins.harness_race.RaceSweeper"
    error: float = 0.05
    params: Optional[Dict[str, str]] = None  # noqa: UP006, UP045


class RaceSweeper(Sweeper):  # type: ignore[misc]  # Hydra has no types here
    """Rounds of a grid, each with the cells that are not known to be worse than the leader."""

    def __init__(self, error: float, params: Optional[Dict[str, str]] = None) -> None:  # noqa: UP006, UP045
        self.error, self.params = error, params
        self.config: Any = None
        self.launcher: Any = None
        self.hydra_context: Any = None

    def setup(self, *, hydra_context: Any, task_function: Any, config: Any) -> None:
        from hydra.core.plugins import Plugins

        self.config, self.hydra_context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        from harness.cli.hydra.rounds_of_cells import raced

        return raced(self, arguments)


if "race.yaml" not in ConfigStore.instance().repo.get("hydra", {}).get("sweeper", {}):  # Hydra imports it twice
    ConfigStore.instance().store(group="hydra/sweeper", name="race", node=RaceConf, provider="harness")
